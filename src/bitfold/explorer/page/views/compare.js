// Compare: one query in two models, and the queries where the two differ most.

import * as api from "../api.js";
import { row, tag, thumbnail } from "../card.js";
import { at, capitalized, counted, h, percent } from "../dom.js";
import { MapCard } from "../mapcard.js";
import { allHits, groupList, noteOf, places } from "../results.js";
import { heading } from "./explore.js";

/** @typedef {import("../session.js").Session} Session */
/** @typedef {import("../types.js").Answer} Answer */
/** @typedef {import("../types.js").Comparison} Comparison */

/** An expected number of items, such as 3 or 2.4. @param {number} n */
const short = (n) => String(Math.round(10 * n) / 10);

export class CompareView {
  /** @param {HTMLElement} element @param {Session} session */
  constructor(element, session) {
    this.element = element;
    this.session = session;
    /** @type {MapCard[]} */
    this.cards = [];
    this.verdict = h("div", { class: "card query" }, h("p", { class: "empty waiting" }, "Searching …"));
    this.differences = h("section", { class: "card differences", "aria-label": "Where the models differ" }, h("p", { class: "empty waiting" }, "Comparing the models for a sample of queries …"));
    this.lists = [0, 1].map(() => h("div", { class: "card found" }));
  }

  /** @param {AbortSignal} signal */
  async show(signal) {
    const { session } = this;
    if (!this.cards.length) await this.build();
    this.showDifferences();
    const coloring = this.cards.map((card) => card.update(signal));
    coloring.forEach((each) => each.catch(() => {})); // awaited below
    const answers = await Promise.all([0, 1].map((model) => api.search({ query: session.query, model, k: 20, per_group: 5, values: session.about.item_kind === "row", ...session.filter }, signal)));
    if (signal.aborted) return;
    const [{ query }] = answers;
    if (query.item && session.query.startsWith("point:")) session.note({ query: `item:${query.item.id}` });
    this.draw(answers);
    await Promise.all([...coloring, ...this.cards.map((card) => card.loadDistances(query.key, signal))]);
  }

  async build() {
    const { session } = this;
    const data = await Promise.all([0, 1].map((model) => session.map(model)));
    this.cards = data.map((each, model) => {
      const { name, method, n_bits: n, n_distinct: distinct, default_radius: radius } = session.about.models[model];
      const card = new MapCard(session, model, each, h("header", {}, h("h2", {}, name), h("p", { class: "hint" }, `${method}, ${n} bits, ${counted(distinct, "distinct code")}`)));
      card.radius = radius;
      return card;
    });
    this.element.replaceChildren(this.verdict, this.differences, ...this.cards.map((card, i) => h("div", { class: "side" }, card.element, this.lists[i])));
    at("loading").hidden = true;
  }

  /** @param {Answer[]} answers */
  draw(answers) {
    const { session } = this;
    const { about } = session;
    const hits = answers.map(allHits);
    const found = hits.map(places);
    const [{ query }] = answers;
    const common = hits[0].filter((hit) => found[1].has(hit.id)).length;
    this.verdict.replaceChildren(...[thumbnail(query.image, query.title, "portrait"), h("div", { class: "facts" },
      h("div", { class: "name" }, h("h2", {}, capitalized(query.title)), tag(query.label, about)),
      query.item?.text ? h("p", { class: "text" }, query.item.text) : null,
      h("p", {}, h("b", {}, String(common)), ` of the ${hits[0].length} items shown for ${about.models[0].name} are also shown for ${about.models[1].name}; they have a check mark.`))].filter((each) => each !== null));
    answers.forEach((answer, i) => {
      const other = about.models[1 - i].name;
      this.lists[i].replaceChildren(heading("By code", noteOf(answer), answer.explanation), groupList(answer, {
        about, model: about.models[i], modelNumber: i, query: answer.query, filter: session.filter, others: found[1 - i], otherName: `with ${other}`,
        onPick: (key) => session.go({ query: key }),
      }));
      this.cards[i].showAnswer(answer, hits[i]);
    });
  }

  async showDifferences() {
    try {
      const known = await this.session.once("comparison", api.compare);
      if (!this.differences.querySelector("ol")) this.drawDifferences(known);
      for (const button of this.differences.querySelectorAll("button")) button.toggleAttribute("aria-current", button.dataset.key === this.session.query);
    } catch (error) {
      this.differences.replaceChildren(h("p", { class: "empty" }, error instanceof Error ? error.message : "The models could not be compared."));
    }
  }

  /** @param {Comparison} known */
  drawDifferences(known) {
    const { session } = this;
    const { about } = session;
    const [a, b] = about.models;
    const facts = [["with the label of the query", known.first.same_label, known.second.same_label], ["exact neighbors", known.first.exact, known.second.exact]]
      .filter(([, first]) => first !== null)
      .map(([name, first, second]) => `${name}: ${percent(Number(first))} with ${a.name}, ${percent(Number(second))} with ${b.name}`);
    const byCode = facts.length ? ` Of the first ${known.k} by code alone, ${facts.join("; ")}.` : "";
    this.differences.replaceChildren(
      h("h2", {}, "Where they differ most"),
      h("p", { class: "hint" }, `For ${counted(known.n_queries, "random query", "random queries")}, ${known.mean_common.toFixed(1)} of ${known.k} results are common on average.${byCode}`),
      facts.length ? h("p", { class: "hint" }, `Below: results in common, and how many have the label of the query or are exact neighbors, ${a.name} : ${b.name}.`) : "",
      h("ol", { class: "differing" }, known.queries.map((each) => h("li", {}, this.differing(each, known.k)))));
  }

  /** @param {import("../types.js").DifferingQuery} query @param {number} k */
  differing({ item, n_common: common, first, second }, k) {
    const { session } = this;
    const button = h("button", {
      type: "button", class: "hit", "data-key": `item:${item.id}`, onclick: () => session.go({ query: `item:${item.id}` }),
    }, row(item, session.about));
    button.querySelector(".what")?.append(h("span", { class: "counts" }, h("b", {}, `${common} of ${k} common`),
      first.n_same_label === null ? null : h("small", {}, `same label ${short(first.n_same_label)} : ${short(second.n_same_label ?? 0)}`),
      first.n_exact === null ? null : h("small", {}, `exact ${short(first.n_exact)} : ${short(second.n_exact ?? 0)}`)));
    return button;
  }

  repaint() {
    for (const card of this.cards) {
      card.paint();
      card.map.repaint();
    }
  }
}
