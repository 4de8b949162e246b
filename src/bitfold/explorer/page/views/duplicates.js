// Duplicates: groups of items whose codes are within a radius, with a choice to keep or discard each.

import * as api from "../api.js";
import { row } from "../card.js";
import { count, counted, h, percent, save, say } from "../dom.js";
import { pythonButton } from "../python.js";
import { moreOf, PER_PAGE as PER_MORE } from "../results.js";

/** @typedef {import("../session.js").Session} Session */
/** @typedef {import("../types.js").DuplicateGroup} DuplicateGroup */
/** @typedef {import("../types.js").Duplicates} Duplicates */

const PER_PAGE = 20;
const PER_GROUP = 12;
const MANY = 0.3; // share of all items above which groups are hardly duplicates

export class DuplicatesView {
  /** @param {HTMLElement} element @param {Session} session */
  constructor(element, session) {
    this.element = element;
    this.session = session;
    /** @type {Map<string, boolean>} id to whether it is kept; only what differs from the suggestion */
    this.choices = new Map();
    this.restored = "";
    this.list = h("ol", { class: "duplicate-groups" });
    this.summary = h("p", { class: "hint", "aria-live": "polite" });
    this.radius = h("input", { type: "number", min: 0, class: "bit-number", "aria-label": "Radius in bits" });
    this.radius.addEventListener("change", () => session.go({ near: Math.min(Math.max(Math.trunc(Number(this.radius.value)) || 0, 0), Number(this.radius.max)), page: 0 }));
    this.doubt = h("p", { class: "verdict-box fair", hidden: true },
      `More than ${percent(MANY)} of all items would be discarded, but such a share of true duplicates is rare. These codes probably put different items together: choose a smaller radius, or a model with more distinct codes.`);
    this.pager = h("nav", { class: "pager", "aria-label": "Pages of groups" });
    this.message = h("p", { class: "message", role: "alert", hidden: true });
    this.chosen = h("span", { class: "hint" });
    this.element.replaceChildren(this.head(), this.message, this.list, this.pager);
  }

  head() {
    return h("div", { class: "card duplicates-head" },
      h("div", {}, h("h2", {}, "Near-duplicate groups"),
        h("p", { class: "hint" }, "Every code of a group differs from that of its first item in at most as many bits as the radius. Equal codes are a hint, not a proof: look before you discard."), this.summary), this.doubt,
      h("div", { class: "row-of-buttons" }, h("label", { class: "field" }, h("span", {}, "Radius"), this.radius, h("span", {}, "bits")),
        h("button", { type: "button", class: "primary", onclick: () => this.export("ids", "discard.txt") }, "Export ids to discard"),
        h("button", { type: "button", onclick: () => this.export("csv", "duplicates.csv") }, "Export CSV"),
        pythonButton(this.session, "duplicates", () => ({ radius: this.known?.radius })), this.chosen));
  }

  /** @param {AbortSignal} signal */
  async show(signal) {
    const { session } = this;
    const { state, about } = session;
    this.message.hidden = true;
    this.restore();
    this.list.classList.add("waiting");
    if (!this.list.children.length) this.list.replaceChildren(h("li", { class: "empty" }, "Looking for groups …"));
    try {
      const known = await api.duplicates(state.model, { radius: state.near ?? undefined, offset: state.page * PER_PAGE, limit: PER_PAGE, per_group: PER_GROUP, values: about.item_kind === "row" }, signal);
      if (!signal.aborted) this.draw(known);
    } finally {
      if (!signal.aborted) this.list.classList.remove("waiting");
    }
  }

  /** @param {Duplicates} known */
  draw(known) {
    this.known = known;
    this.radius.max = String(known.max_radius);
    this.radius.value = String(known.radius);
    const { n_groups: nGroups, n_items: nItems, n_extra: nExtra } = known;
    this.summary.replaceChildren(nGroups
      ? h("span", {}, h("b", {}, counted(nGroups, "group")), ` with ${counted(nItems, "item")}; keeping one per group would discard `, h("b", {}, count(nExtra)), ".")
      : h("span", {}, "No two codes are this close. A larger radius finds more."));
    this.doubt.hidden = nExtra < MANY * this.session.about.n_items;
    this.list.replaceChildren(...known.groups.map((group) => h("li", { class: "card duplicate-group", "data-group": group.number }, ...this.group(group))));
    this.drawPager(nGroups);
    this.countChoices();
  }

  /** @param {DuplicateGroup} group */
  group(group) {
    const items = h("ul", { class: "duplicate-items" }, group.items.map((item, i) => h("li", {}, this.item(item, i === 0))));
    const setAll = (/** @type {boolean} */ isKept) => {
      group.items.forEach((item, i) => this.choose(item.id, isKept || i === 0, i === 0));
      items.replaceChildren(...group.items.map((item, i) => h("li", {}, this.item(item, i === 0))));
    };
    const hidden = group.size - group.items.length;
    return [h("header", {}, h("h3", {}, counted(group.size, "item")),
      h("button", { type: "button", class: "plain", onclick: () => setAll(false) }, "Keep only the first"),
      h("button", { type: "button", class: "plain", onclick: () => setAll(true) }, "Keep all shown")), items,
    hidden > 0 ? this.moreButton(group, items) : ""];
  }

  /** @param {DuplicateGroup} group @param {HTMLElement} list */
  moreButton(group, list) {
    const button = h("button", { type: "button", class: "more" }, moreOf(group.items.length, group.size));
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        const page = await api.duplicateGroup(this.session.state.model, group.number, { radius: this.known?.radius ?? 0, offset: group.items.length, limit: PER_MORE });
        group.items.push(...page.items);
        list.append(...page.items.map((item) => h("li", {}, this.item(item, false))));
        button.textContent = moreOf(group.items.length, group.size);
        button.hidden = group.items.length >= group.size || !page.items.length;
      } catch (error) {
        this.complain(error);
      }
      button.disabled = false;
    });
    return button;
  }

  /** @param {import("../types.js").Hit} item @param {boolean} isFirst */
  item(item, isFirst) {
    const { session } = this;
    const isKept = this.choices.get(item.id) ?? isFirst;
    const box = h("input", { type: "checkbox", checked: isKept, "aria-label": `Keep ${item.id}` });
    const element = h("div", { class: `duplicate ${isKept ? "kept" : "discarded"}`, "data-id": item.id },
      h("button", { type: "button", class: "hit", title: "Search with this item", onclick: () => session.go({ view: "explore", query: `item:${item.id}` }) }, row(item, session.about)),
      h("label", { class: "keep" }, box, h("span", {}, "Keep"),
        h("small", {}, isFirst ? "the first" : item.hamming ? `${counted(item.hamming, "bit")} away` : "same code")));
    box.addEventListener("change", () => {
      this.choose(item.id, box.checked, isFirst);
      element.replaceWith(this.item(item, isFirst));
    });
    return element;
  }

  /** @param {string} id @param {boolean} isKept @param {boolean} isSuggested */
  choose(id, isKept, isSuggested) {
    if (isKept === isSuggested) this.choices.delete(id);
    else this.choices.set(id, isKept);
    this.countChoices();
    sessionStorage.setItem(this.name, JSON.stringify([...this.choices]));
  }

  // Choices belong to one model and radius; they survive a reload.
  get name() {
    return `bitfold-duplicates-${this.session.model.name}-${this.session.state.near ?? "default"}`;
  }

  restore() {
    if (this.restored === this.name) return;
    this.restored = this.name;
    this.choices = new Map(JSON.parse(sessionStorage.getItem(this.name) ?? "[]"));
  }

  countChoices() {
    this.chosen.textContent = this.choices.size ? `${counted(this.choices.size, "item")} changed by you` : "";
  }

  /** @param {number} nGroups */
  drawPager(nGroups) {
    const { session } = this;
    const { page } = session.state;
    const last = Math.max(0, Math.ceil(nGroups / PER_PAGE) - 1);
    const button = (/** @type {string} */ text, /** @type {number} */ to) => h("button", { type: "button", disabled: to < 0 || to > last, onclick: () => session.go({ page: to }) }, text);
    this.pager.replaceChildren(...(last ? [button("← Previous", page - 1), h("span", { class: "hint" }, `page ${count(page + 1)} of ${count(last + 1)}`), button("Next →", page + 1)] : []));
  }

  /** @param {"ids" | "csv"} format @param {string} name */
  async export(format, name) {
    const chosen = (/** @type {boolean} */ isKept) => [...this.choices].filter(([, kept]) => kept === isKept).map(([id]) => id);
    try {
      save(await api.exportDuplicates(this.session.state.model, { radius: this.known?.radius ?? 0, keep: chosen(true), discard: chosen(false), format }), name);
      say(`${name} saved`);
    } catch (error) {
      this.complain(error);
    }
  }

  /** @param {unknown} error */
  complain(error) {
    this.message.textContent = error instanceof Error ? error.message : "This did not work. Try again.";
    this.message.hidden = false;
  }

  repaint() {}
}
