// The radius slider below a histogram of the distances to the query.

import { count, counted, h, percent, svg } from "./dom.js";

/** @typedef {import("./types.js").RadiusCounts} RadiusCounts */

const HEIGHT = 40;

export class Radius {
  /** @param {number} nBits @param {number} radius @param {(radius: number, isDone: boolean) => void} onChange */
  constructor(nBits, radius, onChange) {
    this.nBits = nBits;
    /** @type {RadiusCounts | null} */
    this.counts = null;
    this.input = h("input", { type: "range", min: 0, max: nBits, value: radius, step: 1, class: "slider", "aria-label": "Hamming radius" });
    this.output = h("output", { class: "within" }, "…");
    this.bars = svg("svg", { class: "bars", viewBox: `0 0 ${nBits + 1} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": "Items by Hamming distance" });
    this.high = h("span", {}, "");
    this.input.addEventListener("input", () => { this.report(); onChange(this.radius, false); });
    this.input.addEventListener("change", () => onChange(this.radius, true));
    this.element = h("div", { class: "radius" },
      h("p", { class: "radius-head" }, "Radius ", this.output),
      h("div", { class: "radius-body" },
        h("div", { class: "axis-y", "aria-hidden": "true" }, this.high, h("span", {}, "1")),
        h("div", { class: "radius-plot" }, this.bars, this.input,
          h("p", { class: "axis" }, h("span", {}, "0"), h("span", {}, "differing bits → (height: items at this distance, log scale)"), h("span", {}, String(nBits))))));
  }

  get radius() {
    return Number(this.input.value);
  }

  /** @param {number} radius */
  setRadius(radius) {
    this.input.value = String(radius);
    this.report();
  }

  /** @param {RadiusCounts} counts */
  set(counts) {
    this.counts = counts;
    const each = counts.within.map((n, i) => n - (counts.within[i - 1] ?? 0));
    const most = Math.max(...each, 1);
    this.high.textContent = most.toLocaleString("en", { notation: "compact" });
    this.bars.replaceChildren(...each.map((n, d) => {
      const height = n ? Math.max((HEIGHT * Math.log1p(n)) / Math.log1p(most), 1.5) : 0;
      return svg("rect", { x: d + 0.1, y: HEIGHT - height, width: 0.8, height, "data-d": d }, svg("title", {}, `${counted(n, "item")} at ${counted(d, "bit")}`));
    }));
    this.report();
  }

  report() {
    if (!this.counts) return;
    const { within, alike } = this.counts;
    const n = within[this.radius];
    const share = percent(n / Math.max(within[within.length - 1], 1));
    const same = alike && n ? `, ${percent(alike[this.radius] / n)} of them with its label` : "";
    this.output.replaceChildren(h("b", {}, counted(this.radius, "bit")), ": ", h("b", { class: "n" }, counted(n, "item")), ` (${share} of all)${same}`);
    this.input.setAttribute("aria-valuetext", `${counted(this.radius, "bit")}, ${count(n)} items`);
    for (const bar of this.bars.children) bar.classList.toggle("in", Number(bar.getAttribute("data-d")) <= this.radius);
  }
}
