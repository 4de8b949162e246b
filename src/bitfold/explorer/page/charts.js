// Charts of the bits: balance, correlation and sizes of buckets, with their axes.

import { count, h, percent, svg } from "./dom.js";

/** @typedef {import("./types.js").Statistics} Statistics */

/** Fraction of ones per bit. @param {Statistics} known */
export function balance({ balance: shares }) {
  const n = shares.length;
  const bars = shares.map((share, i) => {
    const off = Math.abs(share - 0.5);
    const kind = off > 0.49 ? "bad" : off > 0.3 ? "fair" : "good";
    return svg("rect", { class: kind, x: i + 0.1, width: 0.8, y: 40 - 40 * share, height: Math.max(40 * share, 0.4) },
      svg("title", {}, `bit ${i}: ${percent(share)} ones`));
  });
  return h("div", { class: "chart with-y" }, h("div", { class: "axis-y" }, h("span", {}, "100%"), h("span", {}, "50%"), h("span", {}, "0%")),
    svg("svg", { class: "balance", viewBox: `0 0 ${n} 40`, preserveAspectRatio: "none", role: "img",
      "aria-label": `Share of ones of ${n} bits, from ${percent(Math.min(...shares))} to ${percent(Math.max(...shares))}` },
    bars, svg("line", { x1: 0, x2: n, y1: 20, y2: 20 })),
    h("p", { class: "axis" }, h("span", {}, "bit 0"), h("span", {}, `bit ${n - 1}`)));
}

/** @param {Statistics} known */
export function correlation({ correlation: matrix }) {
  const n = matrix.length;
  const off = matrix.flatMap((row, i) => row.filter((_, j) => j !== i).map(Math.abs));
  const mean = off.length ? off.reduce((a, b) => a + b, 0) / off.length : 0;
  const canvas = h("canvas", { class: "matrix", width: n, height: n, role: "img", "aria-label": `Correlation of ${n} bits, ${mean.toFixed(2)} on average` });
  paint(canvas, matrix);
  const note = h("span", {}, `mean |r| ${mean.toFixed(2)}`);
  canvas.addEventListener("pointermove", (event) => {
    const [j, i] = [event.offsetX, event.offsetY].map((p) => Math.min(n - 1, Math.max(0, Math.floor((p / canvas.clientWidth) * n))));
    note.textContent = `bits ${i} and ${j}: r = ${matrix[i][j].toFixed(2)}`;
  });
  canvas.addEventListener("pointerleave", () => { note.textContent = `mean |r| ${mean.toFixed(2)}`; });
  return h("div", { class: "chart" }, canvas,
    h("p", { class: "axis" }, note, h("span", { class: "color-key" }, "r = −1", h("i", {}), "+1")));
}

/** @param {HTMLCanvasElement} canvas @param {number[][]} matrix */
function paint(canvas, matrix) {
  const n = matrix.length;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const image = context.createImageData(n, n);
  matrix.forEach((row, i) => row.forEach((r, j) => {
    const strength = i === j ? 0 : Math.min(1, Math.abs(r));
    image.data.set([...(r > 0 ? [79, 91, 213] : [226, 88, 62]), 255 * strength], 4 * (i * n + j));
  }));
  context.putImageData(image, 0, 0);
}

/** Items by the size of their bucket. @param {Statistics} known */
export function sizes(known) {
  const used = known.sizes.filter((size) => size.n_buckets);
  const most = Math.max(...used.map((size) => size.n_items), 1);
  return h("table", { class: "shares" },
    h("thead", {}, h("tr", {}, ["items in a bucket", "buckets", "share of all items"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, used.map((size) => {
      const bar = h("i", { class: "bar" });
      bar.style.width = `${(100 * size.n_items) / most}%`;
      const range = size.low === size.high ? count(size.low) : `${count(size.low)} – ${count(size.high)}`;
      return h("tr", {}, h("th", { scope: "row" }, range), h("td", {}, count(size.n_buckets)),
        h("td", {}, h("span", { class: "track" }, bar), percent(size.n_items / known.n_items)));
    })));
}

/** What the marks of a gauge mean. */
export const gaugeKey = () => h("p", { class: "key-row" }, [["good", "limit of good"], ["poor", "limit of poor"], ["reference", "another method, or chance"]]
  .map(([kind, meaning]) => h("span", { class: "symbol" }, h("i", { class: `mark ${kind}` }), meaning)));

/**
 * A measure between 0 and 1 with its thresholds and references.
 * @param {import("./types.js").Measure} measure
 */
export function gauge({ value, good_from: good, poor_below: poor, references, title, text }) {
  if (value === null || value < 0 || value > 1) return null;
  const bar = h("i", { class: "bar" });
  bar.style.width = `${100 * value}%`;
  const mark = (/** @type {number} */ at, /** @type {string} */ kind, /** @type {string} */ name) => {
    const element = h("i", { class: `mark ${kind}`, title: name });
    element.style.left = `${100 * Math.min(Math.max(at, 0), 1)}%`;
    return element;
  };
  return h("div", { class: "gauge", role: "img", "aria-label": `${title}: ${text}` }, bar,
    poor === null ? null : mark(poor, "poor", `poor: ${percent(poor)}`),
    good === null ? null : mark(good, "good", `good: ${percent(good)}`),
    references.map((each) => mark(each.value, "reference", `${each.name}: ${each.text}`)));
}
