// Colors of points: a palette of 256 entries per legend, and the entry of each point.

/** @typedef {import("./types.js").Legend} Legend */
/** @typedef {[number, number, number]} Rgb */

const OTHER = 254;
const MISSING = 255;
const LAST = 253; // the highest entry for a value

const TEN = ["#4269d0", "#e8a20c", "#ff5a48", "#12a0a6", "#6bb53f", "#ff7eb0", "#a463f2", "#6fb6f0", "#a0704f", "#8a8f98"];
const TWO = ["#e8a20c", "#4269d0"];
// From few to many: the higher value stands out from the background in both themes.
const RAMPS = {
  light: ["#f3d9a4", "#f0975f", "#c6407a", "#451a70"],
  dark: ["#4a3a78", "#c6407a", "#f0975f", "#fde9b8"],
};

const theme = () => (document.documentElement.dataset.theme === "dark" ? "dark" : "light");

/** @param {string} hex @returns {Rgb} */
const parse = (hex) => /** @type {Rgb} */ ([1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));

/** @param {Rgb} color */
const css = ([red, green, blue]) => `rgb(${Math.round(red)} ${Math.round(green)} ${Math.round(blue)})`;

/** @param {number} t between 0 and 1 @returns {Rgb} */
function rampAt(t) {
  const stops = RAMPS[theme()].map(parse);
  const place = Math.min(Math.max(t, 0), 1) * (stops.length - 1);
  const i = Math.min(Math.floor(place), stops.length - 2);
  return /** @type {Rgb} */ (stops[i].map((value, c) => value + (place - i) * (stops[i + 1][c] - value)));
}

/** @param {number} hue @param {number} saturation @param {number} lightness @returns {Rgb} */
function fromHsl(hue, saturation, lightness) {
  const spread = saturation * Math.min(lightness, 1 - lightness);
  return /** @type {Rgb} */ ([0, 8, 4].map((offset) => {
    const k = (offset + hue / 30) % 12;
    return 255 * (lightness - spread * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  }));
}

/** @param {number} category @param {number} n number of categories @returns {Rgb} */
function categoryColor(category, n) {
  if (n <= TEN.length) return category < n ? parse(n === 2 ? TWO[category] : TEN[category]) : plain();
  // Steps of the golden angle give consecutive categories very different hues.
  return fromHsl((category * 137.508) % 360, 0.5 + 0.18 * (category % 2), 0.5 + 0.09 * ((category % 3) - 1));
}

/** @returns {Rgb} */
const plain = () => parse(theme() === "dark" ? "#7f899c" : "#8d95a6");

/** Whether small values stand out: what is near matters. @param {Legend} legend */
const isReversed = (legend) => legend.by === "distance";

/** @param {Legend} legend @param {number} entry @returns {Rgb} */
function entryColor(legend, entry) {
  if (entry >= OTHER) return plain();
  if (legend.kind === "categories") return categoryColor(entry, legend.categories.length);
  return rampAt(isReversed(legend) ? 1 - entry / LAST : entry / LAST);
}

/** @param {Legend} legend @param {number | null} only the one category to show @returns {Uint8Array} */
export function paletteOf(legend, only = null) {
  const palette = new Uint8Array(1024);
  for (let entry = 0; entry < 256; entry++) {
    const isShown = only === null || entry === entryOf(only);
    palette.set([...entryColor(legend, entry), isShown ? 255 : 26], 4 * entry);
  }
  return palette;
}

/** @param {number} category */
const entryOf = (category) => (category > LAST ? category % OTHER : category);

/** Return the entry of each point. @param {Uint16Array} values as the API sends them @param {Legend} legend */
export function shadesOf(values, legend) {
  const shades = new Uint8Array(values.length);
  const isCategory = legend.kind === "categories";
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value >= 65534) shades[i] = value === 65534 && isCategory ? OTHER : MISSING;
    else shades[i] = isCategory ? entryOf(value) : Math.round((value / 65533) * LAST);
  }
  return shades;
}

/** @param {Legend} legend @param {number} category */
export const colorOf = (legend, category) => css(entryColor(legend, category < 0 ? MISSING : entryOf(category)));

/** The color of a class of the label column. @param {number} label @param {number} n number of classes */
export const labelColor = (label, n) => css(label < 0 ? plain() : categoryColor(label % OTHER, n));

/** Stops of the color ramp, from low to high. @param {Legend} legend */
export const rampColors = (legend) => [0, 0.2, 0.4, 0.6, 0.8, 1].map((t) => css(rampAt(isReversed(legend) ? 1 - t : t)));
