// The results of a search: one entry per code. Items that share a code are a bucket, not a ranking.

import * as api from "./api.js";
import { row } from "./card.js";
import { count, counted, h, measured } from "./dom.js";
import { bitsOf, strip } from "./strip.js";

/** @typedef {import("./types.js").Answer} Answer */
/** @typedef {import("./types.js").Group} Group */
/** @typedef {import("./types.js").Hit} Hit */
/** @typedef {import("./types.js").About} About */

/** Items that are added to a list at once. */
export const PER_PAGE = 50;

/**
 * @typedef {object} ListOptions
 * @property {About} about
 * @property {import("./types.js").ModelInfo} model
 * @property {number} modelNumber
 * @property {import("./types.js").Query} query
 * @property {import("./api.js").Filter} filter
 * @property {Map<string, number>} [others] position of ids in the other list
 * @property {string} [otherName]
 * @property {(key: string) => void} onPick
 * @property {(code: string | null) => void} [onPoint]
 */

/** @param {Hit[]} hits */
export const places = (hits) => new Map(hits.map((hit, i) => [hit.id, i + 1]));

/** @param {Answer} answer */
export const allHits = (answer) => answer.groups.flatMap((group) => group.hits);

/** What to know about the list of an answer. @param {Answer} answer */
export function noteOf({ tie, n_searched: n, groups }) {
  const isDual = groups.some(({ coarse_hamming: coarse }) => coarse !== null);
  const key = isDual ? "Differing bits (red) are also given as coarse + fine." : "Differing bits are red.";
  return [tie ?? `${counted(n, "item")} searched.`, groups.length ? key : ""].join(" ");
}

/** @param {Answer} answer @param {ListOptions} options */
export function groupList(answer, options) {
  if (!answer.groups.length) return h("p", { class: "empty" }, "No other items match. Remove a filter to search among more.");
  return h("ol", { class: "groups" }, answer.groups.map((group) => h("li", {},
    group.size > 1 ? bucket(group, answer, options) : hitRow(group.hits[0], options, group))));
}

/** @param {Group} group @param {Answer} answer @param {ListOptions} options */
function bucket(group, answer, options) {
  const list = h("ul", { class: "members" }, group.hits.map((hit) => h("li", {}, hitRow(hit, options))));
  const more = group.size > group.hits.length ? moreButton(group, list, options) : null;
  const order = answer.order_inside === "exact" ? "ordered by exact distance" : "in no particular order";
  const isSame = group.hamming === 0;
  return h("section", { class: "bucket", "data-hamming": group.hamming },
    h("header", {}, h("div", { class: "what" },
      h("p", {}, h("b", {}, counted(group.size, "item")), isSame ? " share the code of the query, " : " share one code, ",
        h("span", { class: "hint" }, order)),
      codeOf(group.code, options)), distance(group)),
    list, more);
}

/** What a button says that shows more of a list. @param {number} shown @param {number} size */
export const moreOf = (shown, size) => (size - shown <= PER_PAGE ? `Show ${count(size - shown)} more` : `Show ${PER_PAGE} more of ${count(size)}`);

/** @param {Group} group @param {HTMLElement} list @param {ListOptions} options */
function moreButton(group, list, options) {
  const button = h("button", { type: "button", class: "more" });
  const name = () => { button.textContent = moreOf(list.children.length, group.size); };
  name();
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      const { about, filter, modelNumber } = options;
      const page = await api.bucket({ query: options.query.key, model: modelNumber, code: group.code, offset: list.children.length,
        limit: PER_PAGE, values: about.item_kind === "row", ...filter });
      list.append(...page.hits.map((hit) => h("li", {}, hitRow(hit, options))));
      button.hidden = list.children.length >= group.size || !page.hits.length;
      name();
    } catch (error) {
      button.textContent = error instanceof api.Problem ? error.message : "This could not be loaded. Try again.";
    }
    button.disabled = false;
  });
  return button;
}

/** @param {string} code @param {ListOptions} options */
function codeOf(code, { model, query }) {
  const bits = bitsOf(code, model.n_bits);
  return strip(bits, model.parts, { reference: bitsOf(query.code, model.n_bits) });
}

/** @param {Group} group */
function distance(group) {
  const parts = group.coarse_hamming === null ? null
    : h("small", { title: "differing coarse bits + differing fine bits" }, `${group.coarse_hamming} + ${group.fine_hamming}`);
  return h("span", { class: "distance" }, h("b", {}, count(group.hamming)), h("small", {}, group.hamming === 1 ? "bit" : "bits"), parts);
}

/** @param {Hit} hit @param {ListOptions} options @param {Group | null} group if it is alone in its bucket */
function hitRow(hit, options, group = null) {
  const { about, others, otherName } = options;
  const place = others?.get(hit.id);
  const mark = place ? h("span", { class: "agrees", title: `also number ${place} ${otherName}` }, "✓") : null;
  const element = h("button", {
    type: "button", class: `hit${place ? " matches" : ""}`, "data-id": hit.id, "data-point": hit.point,
    onclick: () => options.onPick(`item:${hit.id}`),
    onpointerenter: () => options.onPoint?.(group?.code ?? null), onpointerleave: () => options.onPoint?.(null),
  }, row(hit, about, mark));
  if (group) {
    element.querySelector(".what")?.append(codeOf(group.code, options));
    element.append(distance(group));
    element.dataset.hamming = String(group.hamming);
  } else if (hit.distance !== null && hit.distance !== undefined) {
    element.append(h("span", { class: "distance" }, h("small", { title: "exact distance" }, measured(hit.distance))));
  }
  return element;
}

/** The exact neighbors, nearest first. @param {Hit[]} hits @param {ListOptions} options */
export function exactList(hits, options) {
  if (!hits.length) return h("p", { class: "empty" }, "No other items match. Remove a filter to search among more.");
  return h("ol", { class: "groups" }, hits.map((hit) => {
    const { about, others, otherName } = options;
    const place = others?.get(hit.id);
    const mark = place ? h("span", { class: "agrees", title: otherName }, "✓") : null;
    const bits = hit.hamming === null || hit.hamming === undefined ? "no code" : counted(hit.hamming, "bit");
    return h("li", {}, h("button", {
      type: "button", class: `hit${place ? " matches" : ""}`, "data-id": hit.id, "data-point": hit.point, onclick: () => options.onPick(`item:${hit.id}`),
      onpointerenter: () => options.onPoint?.(hit.code ?? null), onpointerleave: () => options.onPoint?.(null),
    }, row(hit, about, mark),
    h("span", { class: "distance" }, h("b", {}, measured(hit.distance ?? 0)), h("small", {}, bits))));
  }));
}
