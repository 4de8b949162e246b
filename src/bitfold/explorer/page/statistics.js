// Bit statistics of a model.

import { count, h, percent, svg } from "./dom.js";
import { tag, thumbnail } from "./results.js";

const MARKS = { good: "✓", fair: "!", bad: "✕" };

export function panel(about, known, labels, onPick) {
  return h("article", { class: "card model" },
    h("header", {}, h("h2", {}, about.name), h("p", { class: "hint" }, `${about.method}, ${about.n_bits} bits`)),
    h("ul", { class: "findings" }, known.findings.map((finding) =>
      h("li", { class: finding.level }, h("i", { "aria-label": finding.level }, MARKS[finding.level]), finding.sentence))),
    figures(known),
    h("section", {}, h("h3", {}, "Balance"), h("p", { class: "hint" }, "Fraction of ones per bit; one half is best."), balance(known.balance)),
    h("div", { class: "charts" }, h("section", {}, h("h3", {}, "Correlation"), h("p", { class: "hint" }, "Correlation of each pair of bits; paler is better."), correlation(known.correlation)),
    h("section", {}, h("h3", {}, "Bucket sizes"), h("p", { class: "hint" }, "Number of items by the size of their bucket."), sizes(known))),
    largest(known, labels, onPick));
}

function figures(known) {
  const cells = [
    ["items", count(known.n_items)],
    ["distinct codes", count(known.n_distinct)],
    ["bits of entropy", known.entropy.toFixed(1)],
    ["largest bucket", percent(known.largest[0].size / known.n_items)],
  ];
  return h("dl", { class: "figures" }, cells.map(([name, value]) => h("div", {}, h("dd", {}, value), h("dt", {}, name))));
}

function balance(shares) {
  const width = 100 / shares.length;
  const bars = shares.map((share, i) => {
    const off = Math.abs(share - 0.5);
    const kind = off > 0.49 ? "bad" : off > 0.3 ? "fair" : "good";
    const title = svg("title", {}, `bit ${i}: ${percent(share)} ones`);
    return svg("rect", { class: kind, x: i * width + width * 0.1, width: width * 0.8,
      y: 40 - 40 * share, height: Math.max(40 * share, 0.4) }, title);
  });
  return h("div", { class: "chart" },
    svg("svg", { class: "balance", viewBox: "0 0 100 40", preserveAspectRatio: "none", role: "img",
      "aria-label": `share of ones of ${shares.length} bits` }, bars,
    svg("line", { x1: 0, x2: 100, y1: 20, y2: 20 })),
    h("p", { class: "axis" }, h("span", {}, "bit 0"), h("span", {}, "– 50 %"), h("span", {}, `bit ${shares.length - 1}`)));
}

function correlation(matrix) {
  const n = matrix.length;
  const canvas = h("canvas", { class: "matrix", width: n, height: n, role: "img", "aria-label": `correlation of ${n} bits` });
  const context = canvas.getContext("2d");
  const image = context.createImageData(n, n);
  matrix.forEach((row, i) => row.forEach((r, j) => {
    const strength = i === j ? 0 : Math.min(1, Math.abs(r));
    const [red, green, blue] = r > 0 ? [79, 91, 213] : [226, 88, 62];
    image.data.set([red, green, blue, 255 * strength], 4 * (i * n + j));
  }));
  context.putImageData(image, 0, 0);
  const off = matrix.flatMap((row, i) => row.filter((_, j) => j !== i).map(Math.abs));
  const mean = off.length ? off.reduce((a, b) => a + b, 0) / off.length : 0;
  const note = h("p", { class: "axis" },
    h("span", {}, `mean |r| ${mean.toFixed(2)}`), h("span", { class: "key" }, "−1", h("i", {}), "+1"));
  canvas.addEventListener("pointermove", (event) => {
    const [j, i] = [event.offsetX, event.offsetY].map((p) => Math.min(n - 1, Math.floor(p / canvas.clientWidth * n)));
    if (matrix[i]?.[j] !== undefined) note.firstChild.textContent = `bits ${i} and ${j}: r = ${matrix[i][j].toFixed(2)}`;
  });
  canvas.addEventListener("pointerleave", () => { note.firstChild.textContent = `mean |r| ${mean.toFixed(2)}`; });
  return h("div", { class: "chart" }, canvas, note);
}

function sizes(known) {
  const most = Math.max(...known.sizes.map((size) => size.n_items));
  return h("table", { class: "sizes" },
    h("thead", {}, h("tr", {}, h("th", {}, "items in a bucket"), h("th", {}, "buckets"), h("th", {}, "share of all items"))),
    h("tbody", {}, known.sizes.filter((size) => size.n_buckets).map((size) => {
      const bar = h("i", { class: "bar" });
      bar.style.width = `${100 * size.n_items / most}%`;
      const range = size.low === size.high ? count(size.low) : `${count(size.low)} – ${count(size.high)}`;
      return h("tr", {}, h("td", {}, range), h("td", {}, count(size.n_buckets)),
        h("td", {}, h("div", { class: "share" }, h("span", { class: "track" }, bar), h("span", { class: "num" }, percent(size.n_items / known.n_items)))));
    })));
}

function largest(known, labels, onPick) {
  return h("section", {}, h("h3", {}, "Largest buckets"),
    h("ul", { class: "buckets" }, known.largest.map((bucket) => h("li", {},
      h("p", {}, h("b", {}, count(bucket.size)), bucket.size === 1 ? " item" : " items"),
      h("div", { class: "samples" }, bucket.items.map((item) => h("button", {
        type: "button", class: "sample", title: item.text ?? `item ${item.id}`, "aria-label": `item ${item.id}`,
        onclick: () => onPick(`item:${item.id}`),
      }, thumbnail(item.image, `item ${item.id}`) ?? tag(item.label, labels) ?? `#${item.id}`)))))));
}
