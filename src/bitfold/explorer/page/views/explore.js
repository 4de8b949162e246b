// Explore: the map of a model, the query, what its code finds, and what an exact search finds.

import * as api from "../api.js";
import { tag, thumbnail, values } from "../card.js";
import { at, capitalized, counted, h, info, say } from "../dom.js";
import { MapCard } from "../mapcard.js";
import { N_HITS, copyButtons } from "../python.js";
import { Radius } from "../radius.js";
import { allHits, exactList, groupList, noteOf, places } from "../results.js";
import { bitsOf, strip } from "../strip.js";
import { rankChoice, weightSlider } from "../weight.js";
import { SelectionPanel } from "./selection.js";

/** @typedef {import("../session.js").Session} Session */
/** @typedef {import("../types.js").Answer} Answer */
/** @typedef {import("../types.js").Hit} Hit */

const PER_GROUP = 5;
const N_EXACT = 10;

export class ExploreView {
  /** @param {HTMLElement} element @param {Session} session */
  constructor(element, session) {
    this.element = element;
    this.session = session;
    /** @type {Map<number, MapCard>} */
    this.cards = new Map();
    this.selection = new SelectionPanel(session);
    this.query = h("div", { class: "card query" }, h("p", { class: "empty waiting" }, "Searching …"));
    this.controls = h("div", { class: "controls" });
    this.byCode = h("div", { class: "column by-code" });
    this.byVector = h("div", { class: "column exact" });
    this.found = h("div", { class: "card found" }, this.controls, h("div", { class: `lists ${session.about.has_vectors ? "" : "single"}` }, this.byCode, this.byVector));
    this.answers = h("div", { class: "answers" }, this.selection.element, this.query, this.found);
  }

  /** @param {AbortSignal} signal */
  async show(signal) {
    const card = await this.card();
    if (signal.aborted) return;
    if (!this.element.contains(card.element)) this.element.replaceChildren(card.element, this.answers);
    at("loading").hidden = true;
    this.active = card;
    const coloring = card.update(signal);
    coloring.catch(() => {}); // awaited below
    await Promise.all([this.ask(card, signal), this.selection.show(signal)]);
    await coloring;
  }

  async card() {
    const { model } = this.session.state;
    const data = await this.session.map(model);
    if (!this.cards.has(model)) this.cards.set(model, new MapCard(this.session, model, data));
    return /** @type {MapCard} */ (this.cards.get(model));
  }

  get parameters() {
    const { session } = this;
    const { state, about } = session;
    return { query: session.query, model: state.model, k: N_HITS, per_group: PER_GROUP, rank: state.rank,
      coarse_weight: session.model.n_coarse_bits ? state.weight : null, values: about.item_kind === "row", ...session.filter };
  }

  /** @param {MapCard} card @param {AbortSignal} signal */
  async ask(card, signal) {
    const { session } = this;
    // Colors, layers and selections do not change the answer.
    if (this.asked === JSON.stringify(this.parameters) && this.answer) {
      this.showControls(card, this.answer);
      card.setRadius(card.radius);
      return;
    }
    performance.mark("bitfold:ask");
    const answer = await api.search(this.parameters, signal).catch((error) => {
      if (!signal.aborted) this.clear(card);
      throw error;
    });
    if (signal.aborted) return;
    this.found.hidden = false;
    if (answer.query.item && session.query.startsWith("point:")) session.note({ query: `item:${answer.query.item.id}` });
    this.answer = answer;
    this.parts = session.model.parts; // of the answer, also while another model is asked
    this.showQuery(answer);
    this.showControls(card, answer);
    this.drawAnswer(card, answer, null);
    say(`${counted(answer.n_hits, "item")} found for ${answer.query.title}`);
    performance.mark("bitfold:answer");
    const { key } = answer.query;
    this.asked = "";
    await Promise.all([this.count(card, key, signal), card.loadDistances(key, signal), this.compare(card, answer, signal)]);
    if (!signal.aborted) this.asked = JSON.stringify(this.parameters);
  }

  // Results of an earlier query below an error would look like those of this one.
  /** @param {MapCard} card */
  clear(card) {
    this.answer = undefined;
    this.found.hidden = true;
    this.query.replaceChildren(h("p", { class: "empty" }, "This query has no results; the message above says why."));
    card.clearAnswer();
  }

  /** @param {Answer} answer */
  showQuery({ query, n_bits: nBits }) {
    const { session } = this;
    const { about } = session;
    this.code = h("div", { class: "code" }, strip(bitsOf(query.code, nBits), session.model.parts, { kind: "big" }));
    const others = query.bucket_size;
    const shared = others > 0 ? `${counted(others, "other item")} ${others === 1 ? "has" : "have"} exactly this code.` : "No other item has exactly this code.";
    const key = "Dark bits are 1, light bits are 0.";
    this.query.replaceChildren(...[thumbnail(query.image, query.title, "portrait"),
      h("div", { class: "facts" },
        h("div", { class: "name" }, h("h2", {}, capitalized(query.title)), tag(query.label, about)),
        query.item?.text ? h("p", { class: "text" }, query.item.text) : null,
        query.item ? values(query.item, about, 12) : null,
        this.code, h("p", { class: "hint" }, shared, " ", h("span", { class: "bit-key" }, key))),
      copyButtons(session)].filter((each) => each !== null));
  }

  /** @param {MapCard} card @param {Answer} answer */
  showControls(card, answer) {
    const { session } = this;
    const model = session.model;
    const name = `${session.state.model} ${session.state.weight}`;
    const radius = Math.min(session.state.radius ?? model.default_radius, model.n_bits);
    if (this.controls.dataset.name !== name) {
      this.controls.dataset.name = name;
      this.radius = new Radius(model.n_bits, radius, (value, isDone) => {
        this.active?.setRadius(value);
        if (isDone) session.note({ radius: value });
      });
      this.controls.replaceChildren(...[this.radius.element,
        model.n_coarse_bits && model.coarse_weight ? weightSlider(model.coarse_weight, session.state.weight, (weight) => this.reorder({ weight })) : null,
        h("div", { class: "rank-slot" })].filter((each) => each !== null));
    }
    this.radius?.setRadius(radius);
    card.radius = radius;
    const slot = this.controls.querySelector(".rank-slot");
    slot?.replaceChildren(...(answer.can_rank_by_embedding ? [rankChoice(answer.rank, (rank) => session.go({ rank }))] : []));
  }

  // Search again with another weight, at once and without a new entry in the history.
  /** @param {Partial<import("../address.js").State>} change */
  async reorder(change) {
    this.session.note(change);
    this.reordering?.abort();
    this.reordering = new AbortController();
    const { signal } = this.reordering;
    try {
      const answer = await api.search(this.parameters, signal);
      if (signal.aborted || !this.active) return;
      this.answer = answer;
      this.asked = JSON.stringify(this.parameters);
      this.controls.dataset.name = `${this.session.state.model} ${this.session.state.weight}`;
      this.drawAnswer(this.active, answer, this.neighbors ?? null);
    } catch (error) {
      if (!signal.aborted) this.byCode.replaceChildren(h("p", { class: "empty" }, error instanceof Error ? error.message : "Try again."));
    }
  }

  /** @param {MapCard} card @param {Answer} answer @param {Hit[] | null} neighbors */
  drawAnswer(card, answer, neighbors) {
    const { session } = this;
    const hits = allHits(answer);
    const options = {
      about: session.about, model: session.model, modelNumber: session.state.model, query: answer.query, filter: session.filter,
      onPick: (/** @type {string} */ query) => session.go({ query }), onPoint: (/** @type {string | null} */ code) => this.pointAt(code),
    };
    const title = `By code: ${session.model.n_bits} bits`;
    this.byCode.replaceChildren(heading(title, noteOf(answer), answer.explanation),
      groupList(answer, { ...options, others: neighbors ? places(neighbors) : undefined, otherName: "by exact distance" }));
    this.byCode.dataset.weight = String(answer.coarse_weight ?? "");
    card.showAnswer(answer, hits);
    if (neighbors) {
      const found = places(hits);
      const n = neighbors.filter((hit) => found.has(hit.id)).length;
      this.byVector.replaceChildren(heading(`By exact distance: ${session.about.metric}`, neighbors.length ? `${n} of ${neighbors.length} are among the first ${hits.length} by code.` : "",
        "The nearest vectors, found by comparing with every item. A check mark shows items that are in both lists."),
      exactList(neighbors, { ...options, others: found, otherName: "also in the list by code" }));
    }
  }

  /** Mark the bits in which a code differs from the query. @param {string | null} code */
  pointAt(code) {
    if (!this.answer || !this.code || !this.parts) return;
    const { query, n_bits: nBits } = this.answer;
    this.code.replaceChildren(strip(bitsOf(query.code, nBits), this.parts, { kind: "big", reference: code ? bitsOf(code, nBits) : null }));
  }

  /** @param {MapCard} card @param {string} query @param {AbortSignal} signal */
  async count(card, query, signal) {
    const counts = await api.radiusCounts(query, card.model, signal);
    if (!signal.aborted) this.radius?.set(counts);
  }

  /** @param {MapCard} card @param {Answer} answer @param {AbortSignal} signal */
  async compare(card, answer, signal) {
    const { session } = this;
    const explain = (/** @type {import("../dom.js").Child[]} */ ...text) =>
      this.byVector.replaceChildren(heading("By exact distance", ""), h("p", { class: "empty" }, ...text.map((each) => each || "")));
    this.neighbors = null;
    if (!session.about.has_vectors) return explain("The vectors are not kept, so there are no exact neighbors to compare with. Start with ", h("code", {}, "--vectors"), " to add them.");
    if (!answer.query.has_vector) return explain("This query is a code without a vector, so it has no exact neighbors.");
    if (!this.byVector.children.length) explain("Searching …");
    try {
      const { hits } = await api.exact({ query: answer.query.key, model: card.model, k: N_EXACT, values: session.about.item_kind === "row", ...session.filter }, signal);
      if (signal.aborted) return undefined;
      this.neighbors = hits;
      this.drawAnswer(card, answer, hits);
    } catch (error) {
      if (!signal.aborted && error instanceof Error) explain(error.message);
    }
    return undefined;
  }

  repaint() {
    for (const card of this.cards.values()) {
      card.paint();
      card.map.repaint();
    }
  }
}

/** @param {string} title @param {string} note @param {string} [explanation] */
export const heading = (title, note, explanation) => h("header", {},
  h("div", { class: "title" }, h("h3", {}, title), explanation ? info(explanation, title) : null), h("p", { class: "hint" }, note));

