// Buttons of the map: zoom, selection tools, layers; and the symbols of its key.

import { h, svg } from "./dom.js";

/** @typedef {import("./map/map.js").PlaneMap} PlaneMap */
/** @typedef {import("./map/gestures.js").Tool} Tool */

const ICONS = {
  pan: "M12 3v18M3 12h18M12 3l-3 3M12 3l3 3M12 21l-3-3M12 21l3-3M3 12l3-3M3 12l3 3M21 12l-3-3M21 12l-3 3",
  rectangle: "M4 6h16v12H4z",
  lasso: "M12 5c5 0 9 2.500 9 6s-4 6-9 6-9-2.500-9-6 4-6 9-6zM7 16c-2 1-2 4 1 5",
};

/** @param {string} path */
const icon = (path) => svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: path }));

/** @param {PlaneMap} map */
export function zoomers(map) {
  const button = (/** @type {string} */ text, /** @type {string} */ label, /** @type {() => void} */ act) =>
    h("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
  return h("div", { class: "zoomers" }, button("+", "Zoom in", () => map.zoom(1.6)),
    button("−", "Zoom out", () => map.zoom(1 / 1.6)), button("⤢", "Show all (0)", () => map.fit()));
}

/**
 * @param {PlaneMap} map
 * @param {[string, string][]} layers name and title
 * @param {(layers: string) => void} onLayers
 */
export function toolbar(map, layers, onLayers) {
  /** @type {[Tool, string][]} */
  const tools = [["pan", "Move the map"], ["rectangle", "Select a rectangle (or Shift and drag)"], ["lasso", "Select with a lasso"]];
  const buttons = tools.map(([tool, title]) => h("button", {
    type: "button", class: "icon", "aria-label": title, title, "aria-pressed": String(tool === "pan"), "data-tool": tool, onclick: () => choose(tool),
  }, icon(ICONS[tool])));
  function choose(/** @type {Tool} */ tool) {
    map.gestures.tool = tool;
    map.top.classList.toggle("selecting", tool !== "pan");
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.tool === tool));
  }
  const boxes = layers.map(([name, title]) => ({ name, title, input: h("input", { type: "checkbox" }) }));
  // "none" keeps an empty choice apart from no choice.
  const change = () => onLayers(boxes.filter(({ input }) => input.checked).map(({ name }) => name).join(",") || "none");
  for (const { input } of boxes) input.addEventListener("change", change);
  const menu = h("details", { class: "menu" }, h("summary", {}, "Layers"),
    h("div", { class: "sheet" }, boxes.map(({ title, input }) => h("label", {}, input, title))));
  return {
    element: h("div", { class: "tool-row" }, h("div", { class: "segmented", role: "group", "aria-label": "Pointer" }, buttons), menu),
    set: (/** @type {Set<string>} */ shown) => boxes.forEach(({ name, input }) => { input.checked = shown.has(name); }),
  };
}

/** @type {Record<string, () => SVGElement[]>} */
const SYMBOLS = {
  query: () => [svg("circle", { cx: 9, cy: 9, r: 4.5 }), svg("path", { d: "M9 0v4.500M9 13.500V18M0 9h4.500M13.500 9H18" })],
  hit: () => [svg("circle", { cx: 9, cy: 9, r: 5 })],
  strong: () => [svg("circle", { cx: 9, cy: 9, r: 4, class: "filled" })],
  base: () => [svg("rect", { x: 5, y: 5, width: 8, height: 8 })],
  faint: () => [svg("circle", { cx: 9, cy: 9, r: 3, class: "filled faint" })],
};

/** @param {string} name @param {string} meaning */
export const symbol = (name, meaning) => h("span", { class: "symbol" },
  svg("svg", { viewBox: "0 0 18 18", "aria-hidden": "true" }, SYMBOLS[name]()), meaning);
