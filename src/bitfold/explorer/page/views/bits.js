// Bits: what the codes of each model keep, judged by what they find, and how the bits behave.

import { tag, thumbnail } from "../card.js";
import * as api from "../api.js";
import { balance, correlation, gauge, gaugeKey, sizes } from "../charts.js";
import { counted, count, h, info, percent } from "../dom.js";

/** @typedef {import("../session.js").Session} Session */
/** @typedef {import("../types.js").Statistics} Statistics */
/** @typedef {import("../types.js").Measure} Measure */

const GRADES = { good: ["✓", "Good"], fair: ["!", "Fair"], poor: ["✕", "Poor"], unknown: ["?", "Not measured"], none: ["", ""] };
const LEVELS = { fair: "!", bad: "✕", note: "i" };

export class BitsView {
  /** @param {HTMLElement} element @param {Session} session */
  constructor(element, session) {
    this.element = element;
    this.session = session;
  }

  async show() {
    const { session, element } = this;
    if (!element.children.length) {
      const slots = session.about.models.map(({ name }) => h("article", { class: "card model" }, h("p", { class: "empty waiting" }, `Measuring ${name}: exact neighbors of a sample of queries, once. This may take some seconds.`)));
      element.replaceChildren(...slots);
    }
    await Promise.all(session.about.models.map((_, model) => this.fill(model)));
  }

  /** @param {number} model */
  async fill(model) {
    const slot = this.element.children[model];
    if (!slot.querySelector(".waiting") && !slot.querySelector(".failed")) return;
    try {
      const known = await this.session.once(`statistics ${model}`, () => api.statistics(model));
      slot.replaceChildren(...this.panel(model, known));
    } catch (error) {
      slot.replaceChildren(h("p", { class: "empty failed" }, error instanceof Error ? error.message : "The bits could not be measured."));
    }
  }

  /** @param {number} model @param {Statistics} known */
  panel(model, known) {
    const about = this.session.about.models[model];
    const with_ = known.measured_with;
    const measured = with_ ? `Measured with ${count(with_.n_queries)} random items as queries, among ${counted(with_.n_items, "item")}.`
      : "Without vectors, the exact neighbors are unknown. Keep them in the collection, or start with --vectors.";
    return [
      h("header", {}, h("h2", {}, about.name), h("p", { class: "hint" }, `${about.method}, ${about.n_bits} bits, ${counted(known.n_items, "item")}`)),
      verdict(known),
      h("section", {}, h("h3", {}, "What the codes find"), h("p", { class: "hint" }, measured), gaugeKey(),
        h("ul", { class: "measures" }, known.measures.map(measureRow))),
      known.findings.length ? h("ul", { class: "findings" }, known.findings.map(({ level, sentence }) =>
        h("li", { class: level }, h("i", { "aria-label": level }, LEVELS[level]), sentence))) : null,
      h("section", {}, h("h3", {}, "Balance"), h("p", { class: "hint" }, "Share of items with a one, per bit. A bit says most when it is at 50%; near 0 or 100% it says nothing."), balance(known)),
      h("div", { class: "charts" },
        h("section", { class: "pairs" }, h("h3", {}, "Correlation"), h("p", { class: "hint" }, "Each cell is a pair of bits. Blue pairs repeat, red pairs negate each other; the less color, the better."), correlation(known)),
        h("section", { class: "sizes" }, h("h3", {}, "Bucket sizes"), h("p", { class: "hint" }, "A bucket is all items with one code. Codes cannot tell its items apart."), sizes(known)),
        this.largest(model, known)),
    ].filter((each) => each !== null);
  }

  /** @param {number} model @param {Statistics} known */
  largest(model, known) {
    const { session } = this;
    const { about } = session;
    return h("section", { class: "largest" }, h("h3", {}, "Largest buckets"), h("p", { class: "hint" }, "With items chosen at random. Click one to search with it."),
      h("ul", { class: "buckets" }, known.largest.map((bucket) => h("li", {},
        h("p", {}, h("b", {}, counted(bucket.size, "item")), h("span", { class: "hint" }, ` ${percent(bucket.size / known.n_items)}`)),
        h("div", { class: "samples" }, bucket.items.map((item) => h("button", {
          type: "button", class: "sample", title: item.text ?? `item ${item.id}`, "aria-label": item.text ?? `item ${item.id}`,
          onclick: () => session.go({ view: "explore", query: `item:${item.id}`, model, select: null }),
        }, thumbnail(item.image, "") ?? (item.text ? h("span", { class: "text" }, item.text) : tag(item.label, about) ?? item.id))))))));
  }

  repaint() {}
}

/** @param {Statistics} known */
function verdict({ verdict: { grade, text } }) {
  const [mark, name] = GRADES[grade];
  return h("p", { class: `verdict-box ${grade}`, "data-grade": grade }, h("i", { "aria-label": name, role: "img" }, mark), h("b", {}, text));
}

/** @param {Measure} measure */
function measureRow(measure) {
  const [mark, name] = GRADES[measure.grade];
  const [from, below] = measure.higher_is_better ? ["from", "below"] : ["up to", "above"];
  const rule = [measure.good_from === null ? "" : `good ${from} ${asShare(measure, measure.good_from)}`,
    measure.poor_below === null ? "" : `poor ${below} ${asShare(measure, measure.poor_below)}`].filter(Boolean).join(", ");
  const others = measure.references.map((each) => `${each.name} ${each.text}`).join(" · ");
  return h("li", { class: "measure", "data-name": measure.name, "data-grade": measure.grade },
    h("span", { class: "measure-title" }, measure.title, info(measure.explanation, measure.title)),
    h("span", { class: "measure-value" }, h("b", {}, measure.value === null ? "not measured" : measure.text),
      mark ? h("span", { class: `grade ${measure.grade}` }, `${mark} ${name}`) : null),
    gauge(measure),
    h("small", { class: "measure-rule" }, [rule, others].filter(Boolean).join(" · ")));
}

/** @param {Measure} measure @param {number} value */
const asShare = (measure, value) => (measure.text.includes("%") ? percent(value) : String(value));
