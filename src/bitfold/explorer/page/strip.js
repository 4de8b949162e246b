// A code drawn as bits, part by part, with the bits that differ from another code marked.

import { h, svg } from "./dom.js";

/** @typedef {import("./types.js").CodePart} CodePart */

const ROW = 64; // bits per row
const NAMES = /** @type {Record<string, string>} */ ({ coarse: "coarse: which kind", fine: "fine: order within" });

/** @param {string} hex @param {number} nBits */
export function bitsOf(hex, nBits) {
  const bits = new Uint8Array(nBits);
  for (let i = 0; i < nBits; i++) bits[i] = (parseInt(hex[i >> 2], 16) >> (3 - (i & 3))) & 1;
  return bits;
}

/**
 * @param {Uint8Array} bits
 * @param {CodePart[]} parts
 * @param {{ reference?: Uint8Array | null, kind?: "big" | "" }} [options]
 */
export function strip(bits, parts, { reference = null, kind = "" } = {}) {
  const isDual = parts.length > 1;
  return h("span", { class: `code-strip ${kind} ${isDual ? "dual" : ""}`, role: "img", "aria-label": described(bits, parts, reference) },
    parts.map((part) => {
      const element = h("span", { class: `part ${part.name}` },
        kind === "big" && isDual ? h("small", {}, `${part.end - part.start} ${NAMES[part.name] ?? part.name}`) : null,
        cells(bits.subarray(part.start, part.end), reference?.subarray(part.start, part.end) ?? null));
      element.style.flexGrow = String(Math.min(part.end - part.start, ROW));
      return element;
    }));
}

/** @param {Uint8Array} bits @param {Uint8Array | null} reference */
function cells(bits, reference) {
  const perRow = Math.min(bits.length, ROW);
  const rows = Math.ceil(bits.length / perRow);
  /** @type {Record<string, string>} */
  const paths = { on: "", off: "", "on differs": "", "off differs": "" };
  bits.forEach((bit, i) => {
    const x = (i % perRow) * 10 + 1 + Math.floor((i % perRow) / 8) * 4;
    const y = Math.floor(i / perRow) * 24 + 1;
    const differs = reference !== null && reference[i] !== bit;
    paths[`${bit ? "on" : "off"}${differs ? " differs" : ""}`] += `M${x} ${y}h8v20h-8z`;
  });
  const width = perRow * 10 + Math.ceil(perRow / 8 - 1) * 4;
  return svg("svg", {
    class: "strip", viewBox: `0 0 ${width} ${rows * 24 - 2}`, preserveAspectRatio: "none", "data-rows": rows, "aria-hidden": "true",
  }, Object.entries(paths).filter(([, d]) => d).map(([name, d]) => svg("path", { class: name, d })));
}

/** @param {Uint8Array} bits @param {CodePart[]} parts @param {Uint8Array | null} reference */
function described(bits, parts, reference) {
  const made = parts.length > 1 ? ` (${parts.map((part) => `${part.end - part.start} ${part.name}`).join(", ")})` : "";
  if (reference === null) return `code of ${bits.length} bits${made}`;
  const differing = [...bits.keys()].filter((i) => bits[i] !== reference[i]);
  if (!differing.length) return "the same code";
  const some = differing.slice(0, 12).join(", ") + (differing.length > 12 ? " …" : "");
  return `${differing.length} of ${bits.length} bits differ: ${some}`;
}
