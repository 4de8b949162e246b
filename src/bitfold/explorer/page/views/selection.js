// What is inside the outline drawn on the map: how many, of what, and files to take along.

import * as api from "../api.js";
import { row } from "../card.js";
import { count, counted, h, percent, save, say, short } from "../dom.js";
import { pythonButton } from "../python.js";

/** @typedef {import("../session.js").Session} Session */
/** @typedef {import("../types.js").ColumnSummary} ColumnSummary */

const MAX_CATEGORIES = 8;
const N_SHOWN = 12;
const FORMATS = /** @type {[string, string, string][]} */ ([["ids", "ids", "txt"], ["csv", "CSV", "csv"], ["jsonl", "JSON lines", "jsonl"]]);

export class SelectionPanel {
  /** @param {Session} session */
  constructor(session) {
    this.session = session;
    this.element = h("section", { class: "card selection", "aria-label": "Selection", hidden: true });
    this.shown = "";
  }

  get body() {
    const { state, filter } = this.session;
    return { model: state.model, polygon: state.select, points: null, where: filter.where || null, find: filter.find || null };
  }

  /** @param {AbortSignal} signal */
  async show(signal) {
    const { state } = this.session;
    this.element.hidden = !state.select;
    const name = JSON.stringify(this.body);
    if (!state.select || name === this.shown) return;
    this.element.replaceChildren(h("p", { class: "empty waiting" }, "Counting …"));
    const summary = await api.selection(this.body, signal);
    if (signal.aborted) return;
    this.shown = name;
    this.draw(summary);
    say(`${count(summary.n_items)} items selected`);
  }

  /** @param {import("../types.js").SelectionSummary} summary */
  draw(summary) {
    const { session } = this;
    const { about } = session;
    const message = h("p", { class: "message", role: "alert", hidden: true });
    const clear = h("button", { type: "button", class: "plain", onclick: () => session.go({ select: null }) }, "Clear");
    const head = h("header", {}, h("h2", {}, `${counted(summary.n_items, "item")} selected`),
      h("p", { class: "hint" }, `${percent(summary.n_items / about.n_items)} of all, in ${counted(summary.n_buckets, "bucket")}`), clear);
    const known = [about.text_column, about.image_column, summary.label ? about.label_column : null];
    const label = summary.label && { ...summary.label, name: about.label_column ?? "label" };
    const columns = [label, ...summary.columns.filter(({ name }) => !known.includes(name))];
    this.element.replaceChildren(head, h("div", { class: "row-of-buttons" }, h("span", { class: "hint" }, "Export"),
      FORMATS.map(([format, title, ending]) => h("button", { type: "button", onclick: () => this.save(format, ending, message) }, title)),
      pythonButton(session, "selection")), message,
    h("div", { class: "compositions" }, columns.map((column) => (column ? composition(column) : null))),
    summary.items.length ? h("details", { open: summary.n_items < 200 }, h("summary", {}, `${Math.min(N_SHOWN, summary.items.length)} of them, chosen at random`),
      h("ul", { class: "samples-list" }, summary.items.slice(0, N_SHOWN).map((item) => h("li", {},
        h("button", { type: "button", class: "hit", onclick: () => session.go({ query: `item:${item.id}` }) }, row(item, about)))))) : "");
  }

  /** @param {string} format @param {string} ending @param {HTMLElement} message */
  async save(format, ending, message) {
    message.hidden = true;
    try {
      save(await api.exportSelection(this.body, format), `selection.${ending}`);
    } catch (error) {
      message.textContent = error instanceof Error ? error.message : "The file could not be made. Try again.";
      message.hidden = false;
    }
  }
}

/** @param {ColumnSummary} column */
function composition(column) {
  if (column.categories?.length) return categories(column);
  if (column.histogram) return histogram(column);
  return null;
}

/** @param {ColumnSummary} column */
function categories({ name, categories: all, n_categories: nAll }) {
  const known = all ?? [];
  const most = Math.max(...known.map(({ share }) => share ?? 0), 1e-9);
  return h("section", {}, h("h3", {}, name), h("table", { class: "shares" },
    h("thead", {}, h("tr", {}, ["value", "items", "share of selection", "share of all"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, known.slice(0, MAX_CATEGORIES).map(({ value, count: n, share, share_all: all_ }) => {
      const bar = h("i", { class: "bar" });
      bar.style.width = `${(100 * (share ?? 0)) / most}%`;
      return h("tr", {}, h("th", { scope: "row" }, String(value ?? "missing")), h("td", {}, count(n)),
        h("td", {}, h("span", { class: "track" }, bar), percent(share ?? 0)), h("td", { class: "hint" }, percent(all_ ?? 0)));
    }))),
  nAll > MAX_CATEGORIES ? h("p", { class: "hint" }, `and ${counted(nAll - MAX_CATEGORIES, "more value")}`) : null);
}

/** @param {ColumnSummary} column */
function histogram({ name, low, high, mean, histogram: bins }) {
  const counts = bins?.counts ?? [];
  const most = Math.max(...counts, 1);
  const shown = (/** @type {number | string | null} */ value) => (typeof value === "number" ? short(value) : value ?? "");
  return h("section", {}, h("h3", {}, name),
    h("div", { class: "histogram", role: "img", "aria-label": `Histogram of ${name} from ${shown(low)} to ${shown(high)}` }, counts.map((n) => {
      const bar = h("i", { title: counted(n, "item") });
      bar.style.height = `${(100 * n) / most}%`;
      return bar;
    })),
    h("p", { class: "axis" }, h("span", {}, shown(low)), mean === null ? null : h("span", {}, `mean ${shown(mean)}`), h("span", {}, shown(high))));
}
