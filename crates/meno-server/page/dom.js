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
