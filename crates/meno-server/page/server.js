// The server, and the token that it may want.

import { $ } from "./dom.js";

/** Where the server is mounted: this file is in a folder of it. */
const ROOT = new URL("..", import.meta.url);

export const storage = {
  get: (area, key) => {
    try {
      return window[area].getItem(key);
    } catch {
      return null;
    }
  },
  set: (area, key, value) => {
    try {
      if (value == null) window[area].removeItem(key);
      else window[area].setItem(key, value);
    } catch {
      /* Private windows may refuse; the value then lasts as long as the page. */
    }
  },
};

let token = storage.get("sessionStorage", "meno-token");

/** Why the server did not do it; `wait` is in how many seconds it may, where it says so. */
class Refused extends Error {
  constructor(status, { message, hint } = {}, wait = null) {
    const what = sentence(message ?? `the server answered ${status}`);
    super([what, hint && sentence(hint)].filter(Boolean).join(" "));
    Object.assign(this, { status, wait });
  }
}

function sentence(text) {
  const end = /[.!?]$/.test(text) ? "" : ".";
  return text[0].toUpperCase() + text.slice(1) + end;
}

/** The same request for a shell; a token is never shown. */
export function asCurl(method, path, body) {
  const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = ["curl -s", method === "GET" || method === "POST" ? null : `-X ${method}`, quote(String(address(path)))];
  if (token) parts.push('-H "Authorization: Bearer $TOKEN"');
  if (body !== undefined) parts.push(`-H ${quote("Content-Type: application/json")}`, `-d ${quote(JSON.stringify(body))}`);
  return parts.filter(Boolean).join(" ");
}

/** Where something of the server is. */
export const address = (path) => new URL(`.${path}`, ROOT);

/** Asks the server for JSON; asks the user for a token where one is needed. */
export async function call(method, path, body, signal) {
  const sent = body === undefined ? {} : { type: "application/json", text: JSON.stringify(body) };
  const response = await send(method, path, { ...sent, signal });
  return response.status === 204 ? null : response.json();
}

/** The same for any text, in both directions. */
export async function callText(method, path, sent = {}) {
  return (await send(method, path, sent)).text();
}

async function send(method, path, sent) {
  const headers = {};
  if (token) headers.authorization = `Bearer ${token}`;
  if (sent.type) headers["content-type"] = sent.type;
  const request = { method, headers, signal: sent.signal, body: sent.text };
  let response;
  try {
    response = await fetch(address(path), request);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, { message: "the server cannot be reached" });
  }
  if (response.ok) return response;
  const { error } = await response.json().catch(() => ({}));
  const refused = new Refused(response.status, error, response.headers.get("retry-after"));
  if (response.status === 401 && (await newToken(refused.message))) return send(method, path, sent);
  throw refused;
}

let asking = null;

/** Whether the user gave a token; several requests that wait for one ask once. */
function newToken(reason) {
  asking ??= new Promise((resolve) => {
    const dialog = $("token-dialog");
    $("token-reason").textContent = reason;
    $("token").value = "";
    const finish = () => {
      dialog.removeEventListener("close", finish);
      asking = null;
      const given = dialog.returnValue;
      if (given) setToken(given);
      resolve(Boolean(given));
    };
    dialog.returnValue = "";
    dialog.addEventListener("close", finish);
    dialog.showModal();
  });
  return asking;
}

export function setToken(value) {
  token = value;
  storage.set("sessionStorage", "meno-token", value);
  $("forget-token").hidden = !value;
}

/** Does something, and shows what goes wrong. */
export async function attempt(action) {
  try {
    const result = await action();
    $("trouble").hidden = true;
    return result;
  } catch (error) {
    if (error.name === "AbortError") return undefined;
    $("trouble").textContent = error.message;
    $("trouble").hidden = false;
    return undefined;
  }
}

$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  $("token-dialog").close($("token").value.trim());
});
$("token-cancel").addEventListener("click", () => $("token-dialog").close(""));
$("forget-token").hidden = !token;
