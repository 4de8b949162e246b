// The slider that weighs the coarse bits against the fine ones, and the choice of the order.

import { h, short } from "./dom.js";

const STEPS = 60; // on either side of equal weights
const MOST = 20; // the largest weight; the smallest is its inverse

/** @param {number} weight */
const toStep = (weight) => Math.round((STEPS * Math.log(weight)) / Math.log(MOST));

/** @param {number} step */
const toWeight = (step) => Number(Math.min(Math.max(MOST ** (step / STEPS), 1 / MOST), MOST).toPrecision(3));

/**
 * @param {number} start the weight of the model
 * @param {number | null} weight the weight chosen
 * @param {(weight: number | null) => void} onChange
 */
export function weightSlider(start, weight, onChange) {
  const input = h("input", { type: "range", min: -STEPS, max: STEPS, step: 1, value: toStep(weight ?? start), class: "slider", "aria-label": "Weight of a coarse bit" });
  const output = h("output", {});
  const reset = h("button", { type: "button", class: "plain" }, "Reset");
  // The steps are rounded, but the weight of the model is shown as it is.
  const weightAt = (/** @type {number} */ step) => (step === toStep(start) ? start : toWeight(step));
  const report = () => {
    const chosen = weightAt(Number(input.value));
    output.textContent = `a coarse bit counts ${short(chosen)} ×`;
    input.setAttribute("aria-valuetext", output.textContent);
    reset.hidden = Number(input.value) === toStep(start);
  };
  input.addEventListener("input", () => { report(); onChange(weightAt(Number(input.value))); });
  reset.addEventListener("click", () => { input.value = String(toStep(start)); report(); onChange(null); });
  report();
  return h("div", { class: "weight" },
    h("p", { class: "radius-head" }, h("span", {}, "Kind or order"), output, reset),
    input, h("p", { class: "axis" }, h("span", {}, "← fine bits: order"), h("span", {}, "coarse bits: kind →")));
}

/**
 * @param {"embedding" | "hamming"} rank
 * @param {(rank: string) => void} onChange
 */
export function rankChoice(rank, onChange) {
  const choices = [["embedding", "query's real values", "Differing bits weigh more where the query is far from the threshold."],
    ["hamming", "Hamming distance", "Every differing bit counts the same."]];
  return h("div", { class: "rank" }, h("span", { class: "hint" }, "Order by"),
    h("div", { class: "segmented", role: "group", "aria-label": "Order of the results" }, choices.map(([name, text, title]) =>
      h("button", { type: "button", title, "aria-pressed": String(name === rank), onclick: () => onChange(name) }, text))));
}
