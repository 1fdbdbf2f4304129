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

class Refused extends Error {
  constructor(status, { message, hint } = {}) {
    super([message ?? `The server answered ${status}.`, hint].filter(Boolean).join(" — "));
    this.status = status;
  }
}

/** Asks the server; asks the user for a token where one is needed. */
export async function call(method, path, body, signal) {
  const headers = {};
  if (token) headers.authorization = `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  const request = { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) };
  let response;
  try {
    response = await fetch(new URL(`.${path}`, ROOT), request);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, { message: "The server cannot be reached." });
  }
  if (response.ok) return response.status === 204 ? null : response.json();
  const { error } = await response.json().catch(() => ({}));
  const refused = new Refused(response.status, error);
  if (response.status === 401 && (await newToken(refused.message))) return call(method, path, body, signal);
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
