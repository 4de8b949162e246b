// Create elements from names, attributes and children. Text is never parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Node | string | null | undefined | false} Child */
/** @typedef {Record<string, any>} Attributes */

/**
 * @template {Element} E
 * @param {E} element
 * @param {Attributes} attributes
 * @param {(Child | Child[])[]} children
 * @returns {E}
 */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Attributes} attributes
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export const h = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

/**
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} name
 * @param {Attributes} attributes
 * @param {...(Child | Child[])} children
 * @returns {SVGElementTagNameMap[K]}
 */
export const svg = (name, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, name), attributes, children);

/** @param {string} id */
export const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @param {string} id */
export const inputAt = (id) => /** @type {HTMLInputElement} */ (document.getElementById(id));

/** @param {number} n */
export const count = (n) => Number(n).toLocaleString("en");

/** "1 item", "2 items". @param {number} n @param {string} noun @param {string} [plural] */
export const counted = (n, noun, plural = `${noun}s`) => `${count(n)} ${n === 1 ? noun : plural}`;

/** @param {number} share */
export const percent = (share) =>
  share > 0 && share < 0.001 ? "< 0.1%" : `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)}%`;

/** Integers in full (years without a comma), other numbers with four digits that matter. @param {number} value */
export function short(value) {
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return value.toLocaleString("en", { useGrouping: size >= 10_000 });
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2);
  return value.toLocaleString("en", { maximumSignificantDigits: 4 });
}

/** A distance with four digits that matter, also zeros, so that a column of them is even. @param {number} value */
export const measured = (value) => (value === 0 ? "0" : Math.abs(value) >= 1000 || Math.abs(value) < 1e-3 ? short(value)
  : value.toLocaleString("en", { minimumSignificantDigits: 4, maximumSignificantDigits: 4 }));

/** @param {string} text */
export const capitalized = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** An explanation behind a small "?". @param {string} text @param {string} about */
export const info = (text, about) => h("details", { class: "info" },
  h("summary", { "aria-label": `Explain ${about}`, title: text }, "?"), h("p", {}, text));

/** Say something to screen readers. @param {string} text */
export function say(text) {
  at("said").textContent = text;
}

/** Let the browser save a file. @param {Blob} content @param {string} name */
export function save(content, name) {
  const url = URL.createObjectURL(content);
  const link = h("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
