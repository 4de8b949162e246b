// The box that finds items by text or id, with suggestions.

import * as api from "./api.js";
import { row } from "./card.js";
import { count, h, say } from "./dom.js";

/** @typedef {import("./session.js").Session} Session */

const PAUSE = 140; // milliseconds without typing before the server is asked
const N_SUGGESTIONS = 7;

export class SearchBox {
  /** @param {Session} session @param {(error: unknown) => void} complain */
  constructor(session, complain) {
    this.session = session;
    this.complain = complain;
    const hint = session.about.has_text ? "Find items by text or id" : session.about.columns.length ? "Find items by id or column" : "Find an item by id";
    this.input = h("input", {
      id: "goto", type: "search", placeholder: `${hint} …`, autocomplete: "off", spellcheck: "false",
      role: "combobox", "aria-label": hint, "aria-expanded": "false", "aria-controls": "suggestions", "aria-autocomplete": "list",
    });
    this.list = h("ul", { id: "suggestions", role: "listbox", "aria-label": "Items found", hidden: true });
    this.element = h("div", { class: "search-box" }, this.input, this.list);
    this.active = -1;
    this.timer = 0;
    this.listen();
  }

  listen() {
    this.input.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.suggest(), PAUSE);
    });
    this.input.addEventListener("keydown", (event) => this.onKey(event));
    this.element.addEventListener("focusout", (event) => {
      if (!this.element.contains(/** @type {Node | null} */ (event.relatedTarget))) this.close();
    });
  }

  get options() {
    return /** @type {HTMLElement[]} */ ([...this.list.querySelectorAll('[role="option"]')]);
  }

  close() {
    this.list.hidden = true;
    this.active = -1;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  /** @param {string} text */
  async find(text) {
    this.asking?.abort();
    this.asking = new AbortController();
    return api.items({ find: text, where: this.session.filter.where }, N_SUGGESTIONS, 0, this.asking.signal);
  }

  async suggest() {
    const text = this.input.value.trim();
    if (!text) {
      this.close();
      return;
    }
    try {
      this.draw(text, await this.find(text));
    } catch (error) {
      if (!(error instanceof DOMException)) this.complain(error);
    }
  }

  /** @param {string} text @param {import("./types.js").Found} found */
  draw(text, found) {
    const { session } = this;
    const n = `${found.is_complete ? "" : "more than "}${count(found.n_found)}`;
    const option = (/** @type {import("./dom.js").Child[]} */ inside, /** @type {() => void} */ act) => {
      const element = h("li", { role: "option", "aria-selected": "false", tabindex: "-1", onclick: () => { this.close(); act(); } }, inside);
      element.addEventListener("pointerdown", (event) => event.preventDefault()); // keeps the focus in the box
      return element;
    };
    this.list.replaceChildren(
      ...found.items.map((item) => option(row(item, session.about), () => session.go({ query: `item:${item.id}`, view: session.state.view === "compare" ? "compare" : "explore" }))),
      found.n_found > 1 ? option([h("span", {}, h("b", {}, `Keep only the ${n} matches`), " on the map and in searches")], () => session.go({ find: text }))
        : found.n_found ? "" : h("li", { class: "hint" }, `No item contains “${text}”. Try a shorter part of it.`));
    this.options.forEach((each, i) => { each.id = `suggestion-${i}`; });
    this.list.hidden = false;
    this.active = -1;
    this.input.setAttribute("aria-expanded", "true");
    say(`${n} items found`);
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const { options } = this;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && options.length) {
      this.active = (this.active + step + options.length) % options.length;
      options.forEach((each, i) => each.setAttribute("aria-selected", String(i === this.active)));
      options[this.active].scrollIntoView({ block: "nearest" });
      this.input.setAttribute("aria-activedescendant", options[this.active].id);
    } else if (event.key === "Escape") this.close();
    else if (event.key === "Enter") this.enter();
    else return;
    event.preventDefault();
  }

  async enter() {
    const text = this.input.value.trim();
    if (this.active >= 0 && !this.list.hidden) {
      this.options[this.active].click();
      return;
    }
    if (!text) return;
    clearTimeout(this.timer);
    try {
      const found = await this.find(text);
      const item = found.items.find(({ id }) => id === text) ?? found.items[0];
      this.close();
      if (!item) throw new api.Problem(`No item contains “${text}”. Try a shorter part of it.`);
      this.session.go({ query: `item:${item.id}`, view: this.session.state.view === "compare" ? "compare" : "explore" });
    } catch (error) {
      if (!(error instanceof DOMException)) this.complain(error);
    }
  }
}
