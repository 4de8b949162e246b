// The page: starts, keeps the address and the views in step, and reports errors.

import * as api from "./api.js";
import { VIEWS } from "./address.js";
import { at, count, h } from "./dom.js";
import { Filters } from "./filters.js";
import { hideTip } from "./tip.js";
import { SearchBox } from "./searchbox.js";
import { Session } from "./session.js";
import { listenForUploads } from "./upload.js";
import { BitsView } from "./views/bits.js";
import { CompareView } from "./views/compare.js";
import { DuplicatesView } from "./views/duplicates.js";
import { ExploreView } from "./views/explore.js";

/** @typedef {import("./address.js").ViewName} ViewName */
/** @typedef {{ show: (signal: AbortSignal) => Promise<void>, repaint: () => void }} View */

const TITLES = { explore: "Explore", bits: "Bits", duplicates: "Duplicates", compare: "Compare" };

/** @param {unknown} error @param {HTMLElement} element */
function complain(error, element = at("message")) {
  if (error instanceof DOMException && error.name === "AbortError") return;
  const text = error instanceof api.Problem ? error.message : `The page could not show this: ${error instanceof Error ? error.message : error}. Reload it to try again.`;
  element.textContent = text.charAt(0).toUpperCase() + text.slice(1);
  element.hidden = false;
}

/** @param {string} stage @param {number} share */
function showProgress(stage, share) {
  at("loading").hidden = share >= 1;
  at("loading-stage").textContent = share > 0 && share < 1 ? `${stage} … ${Math.round(100 * share)}%` : `${stage} …`;
  /** @type {HTMLProgressElement} */ (at("loading-bar")).value = share;
}

/** Wait until the server has computed what the first page needs. */
async function waitForServer() {
  for (;;) {
    const { stage, done, ready } = await api.progress();
    if (ready) return api.about();
    showProgress(stage, Math.min(done, 0.99));
    await new Promise((resolve) => { setTimeout(resolve, 400); });
  }
}

class App {
  /** @param {import("./types.js").About} about */
  constructor(about) {
    this.about = about;
    this.turn = new AbortController();
    this.session = new Session(about, () => this.show());
    this.session.onProgress = showProgress;
    /** @type {Partial<Record<ViewName, View>>} */
    this.views = {};
    this.filters = new Filters(this.session);
    this.box = new SearchBox(this.session, complain);
    at("ask").prepend(this.box.element);
    at("filter-slot").append(this.filters.menu);
    at("filter-chips").append(this.filters.chips);
    this.introduce();
    this.listen();
  }

  introduce() {
    const { about } = this;
    at("summary").textContent = [`${count(about.n_items)} items`, ...about.models.map(({ name, n_bits: n }) => `${name} (${n} bits)`)].join(" · ");
    at("tab-compare").hidden = about.models.length < 2;
    at("model").replaceChildren(...about.models.map(({ name, n_bits: n }, i) => h("option", { value: i }, `${name}, ${n} bits`)));
    document.body.classList.toggle("notebook", about.notebook);
  }

  listen() {
    const { session } = this;
    addEventListener("hashchange", () => this.show());
    // The part of the address after # is taken, so the link moves the focus itself.
    at("skip").addEventListener("click", (event) => { event.preventDefault(); at("main").focus(); });
    for (const view of VIEWS) at(`tab-${view}`).addEventListener("click", () => session.go({ view }));
    at("model").addEventListener("change", (event) => session.go({ model: Number(/** @type {HTMLSelectElement} */ (event.target).value), select: null, at: null, weight: null, page: 0 }));
    at("random").addEventListener("click", async () => {
      try {
        session.go({ query: `item:${(await api.random(session.filter)).id}` });
      } catch (error) {
        complain(error);
      }
    });
    at("theme").addEventListener("click", () => {
      const root = document.documentElement;
      root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
      localStorage.setItem("bitfold-theme", root.dataset.theme);
      for (const view of Object.values(this.views)) view.repaint();
    });
    listenForUploads(this.about, (query) => session.go({ view: session.state.view === "compare" ? "compare" : "explore", query }), complain);
    // Menus close like menus: on Escape, and when something else is clicked.
    addEventListener("click", (event) => this.closeMenus(event.target));
    addEventListener("keydown", (event) => { if (event.key === "Escape") this.closeMenus(null); });
  }

  /** @param {EventTarget | null} target */
  closeMenus(target) {
    for (const menu of document.querySelectorAll("details.menu[open], details.info[open]")) {
      if (menu.contains(/** @type {Node | null} */ (target))) continue;
      // The focus returns to the button of the menu instead of getting lost.
      if (menu.contains(document.activeElement)) menu.querySelector("summary")?.focus();
      menu.removeAttribute("open");
    }
  }

  /** @param {ViewName} name @returns {View} */
  view(name) {
    const makers = { explore: ExploreView, bits: BitsView, duplicates: DuplicatesView, compare: CompareView };
    return this.views[name] ??= new makers[name](at(`view-${name}`), this.session);
  }

  prepare() {
    const { session, about } = this;
    const { view } = session.state;
    for (const name of VIEWS) {
      at(`view-${name}`).hidden = name !== view;
      if (name === view) at(`tab-${name}`).setAttribute("aria-current", "page");
      else at(`tab-${name}`).removeAttribute("aria-current");
    }
    document.title = `${TITLES[view]} – ${session.model.name} – bitfold explorer`;
    at("ask-row").hidden = view === "bits";
    at("ask").hidden = view === "duplicates";
    /** @type {HTMLSelectElement} */ (at("model")).value = String(session.state.model);
    at("model-field").hidden = about.models.length < 2 || view === "compare";
    this.filters.show();
    at("filter-chips").hidden = view === "bits" || view === "duplicates";
    if (view === "bits" || view === "duplicates") at("loading").hidden = true;
  }

  /** Say what to do about a condition in the address that the server does not accept. @param {unknown} error */
  withAdvice(error) {
    const isCondition = error instanceof api.Problem && error.status === 422 && this.session.state.where.length > 0;
    return isCondition ? new api.Problem(`${error.message} Remove the filter, or choose another.`) : error;
  }

  async show() {
    this.turn.abort();
    this.turn = new AbortController();
    const { signal } = this.turn;
    this.session.read();
    at("message").hidden = true;
    hideTip();
    this.prepare();
    document.body.dataset.busy = "true";
    try {
      await this.view(this.session.state.view).show(signal);
    } catch (error) {
      if (!signal.aborted) {
        complain(this.withAdvice(error));
        for (const note of document.querySelectorAll(".view:not([hidden]) .waiting")) note.textContent = "Nothing to show.";
      }
    } finally {
      if (!signal.aborted) {
        document.body.dataset.busy = "false";
        at("loading").hidden = true;
      }
    }
  }

  /** For benchmarks: the map of the present view. */
  get map() {
    const { view } = this.session.state;
    if (view === "compare") return /** @type {CompareView} */ (this.view("compare")).cards[0]?.map;
    return /** @type {ExploreView} */ (this.view("explore")).active?.map;
  }
}

async function begin() {
  // The cookie contains the token now; remove it from the address and the history.
  if (location.search.includes("token=")) {
    const rest = new URLSearchParams(location.search);
    rest.delete("token");
    history.replaceState(null, "", location.pathname + (rest.size ? `?${rest}` : "") + location.hash);
  }
  try {
    const app = new App(await waitForServer());
    Object.defineProperty(window, "bitfoldExplorer", { value: { get map() { return app.map; }, get state() { return app.session.state; } } });
    await app.show();
  } catch (error) {
    at("loading").hidden = true;
    complain(error);
  }
}

begin();
