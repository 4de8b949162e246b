// The part of the address after # is the whole state of the page, as in #explore?query=item%3A17&color=bit%3A3.

/** @typedef {"explore" | "bits" | "duplicates" | "compare"} ViewName */

/**
 * @typedef {object} State
 * @property {ViewName} view
 * @property {string} query key of the query; empty for the first item
 * @property {number} model
 * @property {string} color what the map is colored by; empty for the default
 * @property {number | null} only the one category that is shown
 * @property {number | null} radius
 * @property {string[]} where conditions that must all hold
 * @property {string} find
 * @property {string} rank
 * @property {number | null} weight of the coarse bits
 * @property {[number, number, number] | null} at center and zoom of the map
 * @property {[number, number][] | null} select polygon in map coordinates
 * @property {string} layers names of the layers of the map; empty for the default
 * @property {number | null} near radius of the near-duplicates
 * @property {number} page of the duplicates
 */

/** @type {ViewName[]} */
export const VIEWS = ["explore", "bits", "duplicates", "compare"];

/** @type {State} */
export const START = {
  view: "explore", query: "", model: 0, color: "", only: null, radius: null, where: [], find: "",
  rank: "", weight: null, at: null, select: null, layers: "", near: null, page: 0,
};

/** @param {string | null} text @param {number} low @param {number} high */
function numberIn(text, low, high) {
  const value = Number(text);
  return text !== null && text !== "" && Number.isFinite(value) && value >= low && value <= high ? value : null;
}

/** @param {string | null} text @param {number} least */
function numbersIn(text, least) {
  const values = (text ?? "").split(",").map(Number);
  return values.length >= least && values.every(Number.isFinite) ? values : null;
}

/** @param {string | null} text @returns {[number, number][] | null} */
function polygonIn(text) {
  const values = numbersIn(text, 6);
  if (!values || values.length % 2) return null;
  return Array.from({ length: values.length / 2 }, (_, i) => /** @type {[number, number]} */ ([values[2 * i], values[2 * i + 1]]));
}

/** @param {string} hash @param {number} nModels @returns {State} */
export function parse(hash, nModels) {
  const [name, text = ""] = hash.replace(/^#/, "").split("?", 2);
  const given = new URLSearchParams(text);
  const view = VIEWS.find((each) => each === name && (each !== "compare" || nModels > 1)) ?? "explore";
  const at = numbersIn(given.get("at"), 3);
  return {
    view,
    query: given.get("query") ?? "",
    model: Math.trunc(numberIn(given.get("model"), 0, nModels - 1) ?? 0),
    color: given.get("color") ?? "",
    only: numberIn(given.get("only"), 0, 65533),
    radius: numberIn(given.get("radius"), 0, 65536),
    where: given.getAll("where").filter(Boolean),
    find: given.get("find") ?? "",
    rank: given.get("rank") ?? "",
    weight: numberIn(given.get("weight"), 0.05, 20),
    at: at ? [at[0], at[1], at[2]] : null,
    select: polygonIn(given.get("select")),
    layers: given.get("layers") ?? "",
    near: numberIn(given.get("near"), 0, 1024),
    page: Math.trunc(numberIn(given.get("page"), 0, 1e9) ?? 0),
  };
}

/** @param {number} value */
const brief = (value) => String(Number(value.toPrecision(5)));

/** @param {State} state */
export function format(state) {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (name === "view" || value === null || value === "" || (value === 0 && (name === "model" || name === "page"))) continue;
    if (name === "where") state.where.forEach((condition) => given.append("where", condition));
    else given.set(name, Array.isArray(value) ? /** @type {number[]} */ (value.flat()).map(brief).join(",") : String(value));
  }
  const text = given.toString();
  return `#${state.view}${text ? `?${text}` : ""}`;
}

/** The filter as the API expects it. @param {State} state */
export const filterOf = ({ where, find }) => ({
  where: where.length > 1 ? where.map((condition) => `(${condition})`).join(" and ") : where[0] ?? "",
  find,
});
