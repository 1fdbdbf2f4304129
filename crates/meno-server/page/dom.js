// Elements of the page. What becomes a child is a node or text, never markup.

export const $ = (id) => document.getElementById(id);

/** An element with attributes (`on...` are listeners) and children. */
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value != null) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

export function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/** A button; `kind` is its class. */
export function button(name, onclick, kind = null) {
  return el("button", { type: "button", class: kind, onclick }, ...[name].flat());
}

export const hidden = (text) => el("span", { class: "hidden" }, text);

/** Calls back when nothing has happened for a while. */
export function debounced(milliseconds, callback) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(callback, milliseconds);
  };
}

/** Text in which `*words*` are set off. */
export function emphasised(text) {
  return text.split(/\*([^*]+)\*/).map((part, i) => (i % 2 ? el("strong", {}, part) : part));
}

/** Hands a text over as a file. */
export function download(name, text) {
  const link = el("a", { href: URL.createObjectURL(new Blob([text])), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Puts a text on the clipboard; whether it is there. Pages that did not come over TLS or from this machine have the old way only. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = el("textarea", { class: "hidden" });
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}
