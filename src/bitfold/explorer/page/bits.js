// A code drawn as bits, with the bits that differ from another code marked.

import { svg } from "./dom.js";

const ROW = 64;

export function bitsOf(hex, nBits) {
  const bits = new Uint8Array(nBits);
  for (let i = 0; i < nBits; i++) {
    bits[i] = (parseInt(hex[i >> 2], 16) >> (3 - (i & 3))) & 1;
  }
  return bits;
}

export function strip(bits, reference = null, kind = "") {
  const perRow = Math.min(bits.length, ROW);
  const rows = Math.ceil(bits.length / perRow);
  const paths = { on: "", off: "", "on differs": "", "off differs": "" };
  const differing = [];
  bits.forEach((bit, i) => {
    const differs = reference !== null && reference[i] !== bit;
    if (differs) differing.push(i);
    const x = (i % perRow) * 10 + 1 + (Math.floor((i % perRow) / 8)) * 4;
    const y = Math.floor(i / perRow) * 24 + 1;
    paths[`${bit ? "on" : "off"}${differs ? " differs" : ""}`] += `M${x} ${y}h8v20h-8z`;
  });
  const width = perRow * 10 + Math.ceil(perRow / 8 - 1) * 4;
  return svg("svg", {
    class: `strip ${kind}`, viewBox: `0 0 ${width} ${rows * 24 - 2}`, preserveAspectRatio: "none",
    role: "img", "data-rows": rows, "aria-label": said(bits, reference, differing),
  }, Object.entries(paths).filter(([, d]) => d).map(([name, d]) => svg("path", { class: name, d })));
}

function said(bits, reference, differing) {
  if (reference === null) return `code of ${bits.length} bits`;
  if (!differing.length) return "the same code";
  const some = differing.slice(0, 12).join(", ") + (differing.length > 12 ? " …" : "");
  return `${differing.length} of ${bits.length} bits differ: ${some}`;
}
