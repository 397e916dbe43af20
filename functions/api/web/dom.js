// Owns the making of DOM nodes. Text is only ever inserted as text: nothing here, or in any other module, parses markup.

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * Makes an element. Keys of `props` that start with `on` are listeners, `class` and all others are attributes; an attribute
 * that is null, undefined or false is left out, `true` is an empty attribute.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>} [props]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...nodes(children.flat()));
  return node;
}

/**
 * Makes an SVG element; all of `props` are attributes.
 * @param {string} tag
 * @param {Record<string, string | number>} props
 * @param {...SVGElement} children
 */
export function svg(tag, props, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

/** A button that is not the main thing to do. @param {string} label @param {() => void} act @param {Record<string, any>} [props] */
export function button(label, act, props = {}) {
  return el("button", { type: "button", class: "quiet", ...props, onclick: act }, label);
}

/** @param {Element} parent @param {...(Child | Child[])} children */
export function fill(parent, ...children) {
  parent.replaceChildren(...nodes(children.flat()));
}

/** @param {Child[]} children @returns {(Node | string)[]} */
function nodes(children) {
  const present = children.filter((c) => c !== null && c !== undefined && c !== false && c !== "");
  return present.map((c) => (c instanceof Node ? c : String(c)));
}

/**
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const node = document.getElementById(id);
  if (!node) throw new Error(`the page has no #${id}`);
  return node;
}

/** A label with a tone: good, warn, bad, info or none. @param {string} text @param {string} [tone] */
export function badge(text, tone = "") {
  return el("span", { class: `badge ${tone}` }, text);
}

let ids = 0;
/** An id no other element of the page has. @param {string} prefix */
export function freshId(prefix) {
  ids += 1;
  return `${prefix}-${ids}`;
}

/**
 * A table that scrolls by itself when it is wider than the page, also by keyboard.
 * @param {string} caption
 * @param {string[]} columns
 * @param {Child[][]} rows
 */
export function table(caption, columns, rows) {
  const head = el("tr", {}, columns.map((c) => el("th", { scope: "col" }, c)));
  const body = rows.map((row) => el("tr", {}, row.map((cell) => el("td", {}, cell))));
  const whole = el("table", {}, el("caption", {}, caption), el("thead", {}, head), el("tbody", {}, body));
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, whole);
}

/**
 * A disclosure whose content is made when it is first opened.
 * @param {string} label
 * @param {(body: HTMLElement) => void} load
 * @param {Record<string, any>} [props]
 */
export function disclosure(label, load, props = {}) {
  const body = el("div", { class: "disclosed" });
  let loaded = false;
  const open = () => {
    if (!details.open || loaded) return;
    loaded = true;
    load(body);
  };
  const details = el("details", { ...props, ontoggle: open }, el("summary", {}, label), body);
  return details;
}
