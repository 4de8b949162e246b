// The results: rows with image or text, label, code and distance; and the radius slider.

import { bitsOf, strip } from "./bits.js";
import { colorOf } from "./colors.js";
import { count, h, percent, svg } from "./dom.js";

export function thumbnail(path, alt, kind = "thumb") {
  if (!path) return null;
  const image = h("img", { class: kind, src: path, alt, loading: "lazy", decoding: "async" });
  // Small images are enlarged pixel by pixel, large ones smoothly.
  image.addEventListener("load", () => image.classList.toggle("pixels", image.naturalWidth < 64));
  image.addEventListener("error", () => image.replaceWith(h("span", { class: `${kind} none` }, "?")));
  return image;
}

export function tag(label, labels) {
  if (label < 0) return null;
  const dot = h("i", { class: "dot" });
  dot.style.background = colorOf(label, labels.length);
  return h("span", { class: "tag" }, dot, labels[label]);
}

// Rank of each id in the other list, to mark those in both.
export const ranks = (hits) => new Map((hits ?? []).map((hit, i) => [hit.id, i + 1]));

export function list(hits, { labels, query, nBits, others, otherName, distance, onPick, onPoint }) {
  if (!hits.length) return h("p", { class: "empty" }, "There are no other items.");
  const reference = bitsOf(query.code, nBits);
  return h("ol", { class: "hits" }, hits.map((hit) => {
    const rank = others?.get(hit.id);
    const bits = hit.code === null ? null : bitsOf(hit.code, nBits);
    const row = h("button", {
      type: "button", class: "hit", "data-id": hit.id, onclick: () => onPick(`item:${hit.id}`),
      onpointerenter: () => onPoint?.(bits), onpointerleave: () => onPoint?.(null),
      onfocus: () => onPoint?.(bits), onblur: () => onPoint?.(null),
    },
    thumbnail(hit.image, `item ${hit.id}`),
    h("span", { class: "what" },
      h("span", { class: "name" }, h("b", {}, `#${hit.id}`), tag(hit.label, labels),
        rank ? h("span", { class: "agrees", title: `number ${rank} ${otherName}` }, `✓ ${rank}`) : null),
      hit.text ? h("span", { class: "text" }, hit.text) : null,
      bits ? strip(bits, reference) : h("span", { class: "text" }, "not in this index")),
    h("span", { class: "distance" }, distance(hit)));
    row.classList.toggle("matches", Boolean(rank));
    return h("li", {}, row);
  }));
}

export const byHamming = (hit) => [h("b", {}, count(hit.hamming)), h("small", {}, hit.hamming === 1 ? "bit" : "bits")];

export const byLength = (hit) => [
  h("b", {}, short(hit.distance)),
  h("small", {}, hit.hamming === null ? "" : `${hit.hamming} ${hit.hamming === 1 ? "bit" : "bits"}`),
];

const short = (value) => (value >= 1e5 || (value > 0 && value < 1e-3)
  ? value.toExponential(2) : value.toLocaleString("en", { maximumSignificantDigits: 4 }));

export class Radius {
  constructor(nBits, nItems, radius, onChange) {
    this.nBits = nBits;
    this.nItems = nItems;
    this.counts = null;
    this.input = h("input", { type: "range", min: 0, max: nBits, value: radius, step: 1,
      class: "slider", "aria-label": "Hamming radius" });
    this.output = h("output", { class: "within" }, "…");
    this.bars = svg("svg", { class: "bars", viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true" });
    this.input.addEventListener("input", () => { this.say(); onChange(this.radius); });
    this.element = h("div", { class: "radius" },
      h("div", { class: "radius-head" }, h("span", {}, "Within radius"), this.output),
      h("div", { class: "radius-body" }, this.bars, this.input));
  }

  get radius() {
    return Number(this.input.value);
  }

  set(counts) {
    this.counts = counts;
    this.say();
    this.paint();
  }

  say() {
    if (!this.counts) return;
    const hits = this.counts.within[this.radius];
    const alike = this.counts.alike?.[this.radius];
    const parts = [`${count(hits)} ${hits === 1 ? "item" : "items"}`, percent(hits / Math.max(this.nItems, 1))];
    const same = alike !== undefined && hits ? `, ${percent(alike / hits)} of them with its label` : "";
    this.output.replaceChildren(h("b", {}, `${this.radius}`), " bits: ", h("b", { class: "n" }, parts[0]), ` (${parts[1]})${same}`);
    this.input.setAttribute("aria-valuetext", `radius ${this.radius}, ${parts[0]}`);
    for (const bar of this.bars.children) bar.classList.toggle("in", Number(bar.dataset.d) <= this.radius);
  }

  paint() {
    const { within } = this.counts;
    const each = within.map((n, i) => n - (within[i - 1] ?? 0));
    const most = Math.log1p(Math.max(...each, 1));
    const width = 100 / each.length;
    this.bars.replaceChildren(...each.map((n, d) => {
      const height = n ? Math.max(20 * Math.log1p(n) / most, 1.2) : 0;
      return svg("rect", { x: d * width, y: 20 - height, width: width * 0.8, height, "data-d": d });
    }));
    this.say();
  }
}
