// Filters by column: conditions as in Collection.search, built from a column, a comparison and a value.

import { shown } from "./card.js";
import { capitalized, count, h } from "./dom.js";

/** @typedef {import("./session.js").Session} Session */
/** @typedef {import("./types.js").Column} Column */

/** @type {[string, string][]} */
const FOR_TEXT = [["=", "is"], ["<>", "is not"], ["like", "contains"], ["is null", "is missing"]];
/** @type {[string, string][]} */
const FOR_NUMBERS = [[">=", "≥"], ["<=", "≤"], ["=", "="], ["<>", "≠"], ["is null", "is missing"]];
/** @type {[string, string][]} */
const FOR_TRUTH = [["=", "is"], ["is null", "is missing"]];

/** @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", "''")}'`;

/**
 * Return the condition as text; an empty one if the value does not fit the column.
 * @param {Pick<Column, "name" | "type">} column @param {string} comparison @param {string} value
 */
export function condition({ name, type }, comparison, value) {
  const column = /^[a-z_][a-z0-9_]*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
  if (comparison === "is null") return `${column} is null`;
  const text = value.trim();
  if (!text) return "";
  if (comparison === "like") return `${column} like ${quoted(`%${text}%`)}`;
  if (type === "int" || type === "float") return Number.isFinite(Number(text)) ? `${column} ${comparison} ${Number(text)}` : "";
  if (type === "bool") return `${column} ${comparison} ${text === "true"}`;
  return `${column} ${comparison} ${quoted(text)}`;
}

export class Filters {
  /** @param {Session} session */
  constructor(session) {
    this.session = session;
    this.chips = h("div", { class: "chips filters" });
    this.column = h("select", { "aria-label": "Column to filter by" });
    this.comparison = h("select", { "aria-label": "Comparison" });
    this.value = h("input", { "aria-label": "Value", list: "filter-values", autocomplete: "off" });
    this.known = h("datalist", { id: "filter-values" });
    this.message = h("p", { class: "hint" });
    /** @type {Column[]} */
    this.columns = [];
    const form = h("form", { class: "sheet filter-form" }, h("p", { class: "hint" }, "Search, colors and the map use only the items that meet all conditions."),
      h("div", { class: "filter-row" }, this.column, this.comparison, this.value, this.known), this.message,
      h("div", { class: "row" }, h("button", { type: "submit", class: "primary" }, "Add filter")));
    this.menu = h("details", { class: "menu filter-menu" }, h("summary", {}, "Filter"), form);
    this.menu.addEventListener("toggle", () => { if (this.menu.open) this.prepare(); });
    this.column.addEventListener("change", () => this.choose());
    this.comparison.addEventListener("change", () => { this.value.hidden = this.comparison.value === "is null"; });
    form.addEventListener("submit", (event) => { event.preventDefault(); this.add(); });
    this.menu.hidden = !session.about.columns.length;
  }

  async prepare() {
    if (this.columns.length) return;
    this.message.textContent = "Reading the columns …";
    try {
      this.columns = await this.session.columns();
      this.message.textContent = "";
    } catch (error) {
      this.message.textContent = error instanceof Error ? error.message : "The columns could not be read.";
      return;
    }
    this.column.replaceChildren(...this.columns.map(({ name }) => h("option", { value: name }, name)));
    this.choose();
  }

  get chosen() {
    return this.columns.find(({ name }) => name === this.column.value);
  }

  choose() {
    const column = this.chosen;
    if (!column) return;
    const comparisons = column.type === "str" ? FOR_TEXT : column.type === "bool" ? FOR_TRUTH : FOR_NUMBERS;
    this.comparison.replaceChildren(...comparisons.map(([value, text]) => h("option", { value }, text)));
    if (column.is_text) this.comparison.value = "like";
    this.value.hidden = false;
    this.value.value = "";
    this.value.placeholder = column.type === "time" ? "2024-01-31" : column.type === "bool" ? "true or false" : "value";
    this.known.replaceChildren(...(column.categories ?? []).map(({ value, count: n }) => h("option", { value: String(value) }, `${count(n)} items`)));
    const missing = column.n_missing ? `; ${count(column.n_missing)} are missing` : "";
    this.message.textContent = column.low === null ? `${count(column.n_distinct)} different values${missing}.`
      : capitalized(`from ${shown(column.low)} to ${shown(column.high)}${missing}.`);
  }

  add() {
    const column = this.chosen;
    if (!column) return;
    const text = condition(column, this.comparison.value, this.value.value);
    if (!text) {
      this.message.textContent = column.type === "int" || column.type === "float" ? "Enter a number, such as 12.5." : "Enter a value to compare with.";
      this.value.focus();
      return;
    }
    this.menu.open = false;
    const { where } = this.session.state;
    if (!where.includes(text)) this.session.go({ where: [...where, text] });
  }

  show() {
    const { session } = this;
    const { where, find } = session.state;
    const chip = (/** @type {string} */ text, /** @type {() => void} */ remove) => h("span", { class: "chip removable" }, h("span", {}, text),
      h("button", { type: "button", "aria-label": `Remove the filter ${text}`, onclick: remove }, "×"));
    this.chips.replaceChildren(
      ...(find ? [chip(`contains “${find}”`, () => session.go({ find: "" }))] : []),
      ...where.map((text) => chip(text, () => session.go({ where: where.filter((each) => each !== text) }))));
  }
}
