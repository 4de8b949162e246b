// What the colors of the map mean, and the control that chooses them.

import { colorOf, rampColors } from "./colors.js";
import { count, counted, h, short } from "./dom.js";

/** @typedef {import("./types.js").Legend} Legend */
/** @typedef {import("./types.js").About} About */
/** @typedef {import("./types.js").ModelInfo} ModelInfo */

const MAX_CHIPS = 12; // more are shown on request

/** What a map is colored by if nothing is chosen. @param {About} about */
export const defaultColor = (about) => (about.has_labels ? "label" : "density");

/**
 * The control: what to color by, and which bit.
 * @param {About} about
 * @param {ModelInfo} model
 * @param {(by: string) => void} onChange
 */
export function colorControl(about, model, onChange) {
  const option = (/** @type {string} */ value, /** @type {string} */ text) => h("option", { value }, text);
  const columns = about.columns.filter(({ name }) => !(about.has_labels && name === about.label_column) && name !== about.image_column);
  const select = h("select", { "aria-label": "Color the map by" },
    h("optgroup", { label: "Items" }, about.has_labels ? option("label", about.label_column ? `label (${about.label_column})` : "label") : null,
      columns.map(({ name }) => option(`column:${name}`, name))),
    h("optgroup", { label: "Codes" }, option("bucket", "bucket (same code)"),
      model.n_coarse_bits ? option("coarse", "coarse bucket") : null, option("bit", "one bit")),
    h("optgroup", { label: "Map" }, option("density", "density"), option("region", "region"), option("distance", "distance to the query")));
  const bit = h("input", { type: "number", min: 0, max: model.n_bits - 1, value: 0, class: "bit-number", "aria-label": "Number of the bit", hidden: true });
  const value = () => (select.value === "bit" ? `bit:${Math.min(Math.max(Math.trunc(Number(bit.value)) || 0, 0), model.n_bits - 1)}` : select.value);
  select.addEventListener("change", () => { bit.hidden = select.value !== "bit"; onChange(value()); });
  bit.addEventListener("input", () => onChange(value()));
  const set = (/** @type {string} */ by) => {
    const isBit = by.startsWith("bit:");
    select.value = isBit ? "bit" : by;
    bit.hidden = !isBit;
    if (isBit) bit.value = by.slice(4);
  };
  return { element: h("div", { class: "field color-by" }, h("span", {}, "Color by"), select, bit), set };
}

/**
 * @param {Legend} legend
 * @param {number | null} only
 * @param {(category: number | null) => void} onOnly
 * @param {{ isOpen: boolean, onOpen: () => void }} more whether all categories are listed
 */
export function legendOf(legend, only, onOnly, more) {
  const notes = [legend.explanation, legend.n_missing ? `${count(legend.n_missing)} without a value are gray.` : ""];
  return h("div", { class: "legend", "data-by": legend.by },
    legend.kind === "categories" ? chips(legend, only, onOnly, more) : ramp(legend),
    h("p", { class: "hint" }, notes.filter(Boolean).join(" ")));
}

// The largest categories if there are many; all of them, in their own order, otherwise.
/** @param {Legend} legend @param {number | null} only */
function largest({ categories }, only) {
  const numbers = [...categories.keys()].sort((a, b) => categories[b].count - categories[a].count).slice(0, MAX_CHIPS);
  if (only !== null && only < categories.length && !numbers.includes(only)) numbers.push(only);
  return numbers;
}

/** @param {Legend} legend @param {number | null} only @param {(category: number | null) => void} onOnly @param {{ isOpen: boolean, onOpen: () => void }} more */
function chips(legend, only, onOnly, { isOpen, onOpen }) {
  const n = legend.categories.length;
  const isShort = n > MAX_CHIPS + 4 && !isOpen;
  const shown = isShort ? largest(legend, only) : [...legend.categories.keys()];
  const isBucket = legend.by === "bucket" || legend.by === "coarse"; // named by their size
  return h("div", { class: "chips", role: "group", "aria-label": `${legend.title}: show only one` },
    shown.map((category) => {
      const { name, count: size } = legend.categories[category];
      const dot = h("i", { class: "dot" });
      dot.style.background = colorOf(legend, category);
      return h("button", {
        type: "button", class: "chip", "aria-pressed": String(only === category), title: `${count(size)} items; click to show only these`,
        onclick: () => onOnly(only === category ? null : category),
      }, dot, h("span", {}, name || "(empty)"), isBucket ? null : h("small", {}, count(size)));
    }),
    n > MAX_CHIPS + 4 ? h("button", { type: "button", class: "plain", "aria-expanded": String(isOpen), onclick: onOpen }, isOpen ? "Show fewer" : `Show all ${count(n)}`) : null,
    legend.n_unlisted ? h("span", { class: "hint" }, `${counted(legend.n_unlisted, "item has", "items have")} other colors`) : null,
    legend.n_other ? h("span", { class: "hint" }, `${counted(legend.n_other, "other is", "others are")} gray`) : null);
}

/** @param {Legend} legend */
function ramp(legend) {
  const bar = h("i", { class: "ramp" });
  bar.style.background = `linear-gradient(90deg, ${rampColors(legend).join(", ")})`;
  const middle = (legend.low + legend.high) / 2;
  const ticks = legend.is_integer && legend.high - legend.low < 2 ? [legend.low, legend.high] : [legend.low, middle, legend.high];
  const isTime = legend.unit === "time";
  const text = (/** @type {number} */ value) => (isTime ? new Date(1000 * value).toISOString().slice(0, 10)
    : legend.is_log ? Number((10 ** value).toPrecision(2)).toLocaleString("en") : short(legend.is_integer ? Math.round(value) : value));
  return h("div", { class: "ramp-box" }, h("span", { class: "hint" }, `${legend.title}${legend.unit && !isTime ? `, ${legend.unit}` : ""}${legend.is_log ? " (log scale)" : ""}`),
    bar, h("p", { class: "axis" }, ticks.map((value) => h("span", {}, text(value)))));
}
