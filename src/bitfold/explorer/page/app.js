// The page. The part of the address after # says what is shown, as in #explore/item:17/0.

import * as api from "./api.js";
import { bitsOf, strip } from "./bits.js";
import { colorOf } from "./colors.js";
import { at, count, h } from "./dom.js";
import { PlaneMap } from "./map.js";
import { Radius, byHamming, byLength, list, ranks, tag, thumbnail } from "./results.js";
import { panel as statisticsPanel } from "./statistics.js";
import { listenForUploads } from "./upload.js";

const VIEWS = ["explore", "compare", "bits"];
const LEGEND = 30; // maximum number of classes in the legend
let about;
let here = { view: "explore", query: null, model: 0 };
let turn = new AbortController();
const panels = new Map(); // panels of models, by view and number
const maps = new Map();

const addressOf = ({ view, query, model }) => `#${view}/${query ?? ""}/${model}`;

function placeIn(hash) {
  const [view, query, model] = hash.slice(1).split("/");
  const number = Number(model);
  return {
    view: VIEWS.includes(view) && (view !== "compare" || about.models.length > 1) ? view : "explore",
    query: query || `item:${about.first}`,
    model: Number.isInteger(number) && about.models[number] ? number : 0,
  };
}

function go(change) {
  const address = addressOf({ ...here, ...change });
  if (address === location.hash) show();
  else location.hash = address;
}

function complain(error, element = at("message")) {
  if (error.name === "AbortError") return;
  const text = error instanceof api.Problem ? error.message : `The page could not show this: ${error.message}`;
  element.textContent = text.charAt(0).toUpperCase() + text.slice(1);
  element.hidden = false;
}

function calm() {
  at("message").hidden = true;
}

function tip(panel, i, x, y, spoken) {
  const box = at("tip");
  if (i < 0) { box.hidden = true; return; }
  const { map } = panel;
  const item = i < map.n;
  const image = item ? (about.has_images ? `/api/items/${map.data.ids[i]}/image` : null)
    : (about.uploads.draws_vectors ? `/api/models/${panel.model}/base/${i - map.n}/image` : null);
  const name = item ? `#${map.data.ids[i]}` : `base point ${i - map.n}`;
  const label = map.labels[i];
  const distance = item && map.distances ? `${map.distances[i]} bits from the query` : null;
  const text = h("p", { class: "text" });
  box.replaceChildren(...[thumbnail(image, name, "large"), h("p", {}, h("b", {}, name), " ", tag(label, about.labels)),
    text, distance ? h("small", {}, distance) : null].filter(Boolean));
  if (item && about.has_text) fillText(text, map.data.ids[i]);
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  box.style.left = `${Math.max(8, Math.min(x + 18, innerWidth - width - 8))}px`;
  box.style.top = `${Math.max(8, y + 18 + height > innerHeight ? y - height - 14 : y + 18)}px`;
  if (spoken) at("said").textContent = [name, about.labels[label], distance].filter(Boolean).join(", ");
}

const texts = new Map();

async function fillText(element, id) {
  try {
    if (!texts.has(id)) texts.set(id, (await api.item(id)).text ?? "");
    element.textContent = texts.get(id);
  } catch (error) {
    element.textContent = error.message;
  }
}

// The map, radius and results of one model.
class Panel {
  constructor(model, data, withHeader) {
    this.model = model;
    this.about = about.models[model];
    this.map = new PlaneMap(data, {
      nLabels: about.labels.length, images: about.has_images, name: this.about.name,
      onPick: (i) => go({ query: this.map.keyOf(i, model) }),
      onHover: (i, x, y, spoken) => tip(this, i, x, y, spoken),
    });
    this.radius = new Radius(this.about.n_bits, this.about.n_items, Math.min(2, this.about.n_bits),
      (radius) => { this.map.setRadius(radius); this.dim(); });
    this.map.setRadius(this.radius.radius);
    this.found = h("div", { class: "found", "aria-live": "polite" });
    this.code = h("div", { class: "code" });
    this.mapCard = h("div", { class: "card map-card" }, withHeader ? this.header() : null, this.map.canvas, this.zoomers(), this.legend());
  }

  header() {
    return h("header", {}, h("h2", {}, this.about.name),
      h("p", { class: "hint" }, `${this.about.method}, ${this.about.n_bits} bits, ${count(this.about.n_distinct)} distinct codes`));
  }

  zoomers() {
    const button = (text, label, act) => h("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
    return h("div", { class: "zoomers" }, button("+", "Zoom in", () => this.map.zoom(1.6)),
      button("−", "Zoom out", () => this.map.zoom(1 / 1.6)), button("⤢", "Show all", () => this.map.fit()));
  }

  legend() {
    const { labels } = about;
    const base = this.map.data.base.x.length;
    const note = h("p", { class: "hint" }, `${count(this.map.n)} of ${count(this.about.n_items)} items`
      + `${base ? `, ${count(base)} base points (rings)` : ""}. Scroll or pinch to zoom.`);
    const chips = labels.slice(0, LEGEND).map((name, label) => {
      const chip = h("button", { type: "button", class: "chip", "aria-pressed": "false", onclick: () => this.isolate(label) },
        h("i", { class: "dot" }), name);
      chip.firstChild.style.background = colorOf(label, labels.length);
      return chip;
    });
    this.chips = chips;
    const more = labels.length > LEGEND ? h("span", { class: "hint" }, `and ${labels.length - LEGEND} more`) : null;
    return h("footer", {}, h("div", { class: "chips" }, chips, more), note);
  }

  isolate(label) {
    const only = this.map.only === label ? null : label;
    this.chips.forEach((chip, i) => chip.setAttribute("aria-pressed", String(i === only)));
    this.map.setOnly(only);
  }

  async ask(query, signal) {
    const pending = api.radiusCounts(query, this.model, signal);
    pending.catch(() => {}); // reported below, or no longer needed
    const answer = await api.search(query, this.model, signal);
    this.answer = answer;
    this.map.setAnswer({ ...answer.query, id: answer.query.item?.id }, answer.hits);
    this.bits = bitsOf(answer.query.code, answer.n_bits);
    this.point(null);
    const counts = await pending;
    this.map.setDistances(counts.sample);
    this.radius.set(counts);
    return answer;
  }

  // Show the code of the query, and mark the bits that differ in the code pointed at.
  point(bits) {
    this.code.replaceChildren(strip(this.bits, bits, "big"));
  }

  list(hits, options) {
    return list(hits, { labels: about.labels, query: this.answer.query, nBits: this.answer.n_bits,
      distance: byHamming, onPick: (query) => go({ query }), onPoint: (bits) => this.point(bits), ...options });
  }

  // Fade the rows beyond the radius.
  dim() {
    for (const row of this.found.querySelectorAll(".hit")) {
      const hit = this.answer?.hits.find(({ id }) => id === row.dataset.id);
      row.classList.toggle("beyond", Boolean(hit) && hit.hamming > this.radius.radius);
    }
  }
}

async function panelOf(view, model) {
  const name = `${view}/${model}`;
  if (!panels.has(name)) {
    if (!maps.has(model)) maps.set(model, await api.map(model));
    panels.set(name, new Panel(model, maps.get(model), view === "compare"));
  }
  return panels.get(name);
}

function queryCard(query, code) {
  const facts = [h("h2", {}, query.title.charAt(0).toUpperCase() + query.title.slice(1)), tag(query.label, about.labels)];
  return h("div", { class: "card query" }, thumbnail(query.image, query.title, "portrait"),
    h("div", { class: "facts" }, h("div", { class: "name" }, facts), query.item?.text ? h("p", { class: "text" }, query.item.text) : null, code));
}

async function showExplore(signal) {
  const { query, model } = here;
  const panel = await panelOf("explore", model);
  const view = at("view-explore");
  const exact = about.has_vectors ? api.exact(query, model, signal) : null;
  exact?.catch(() => {}); // reported in its own column
  if (!view.contains(panel.mapCard)) view.replaceChildren(panel.mapCard, h("div", { class: "answers" }, waiting()));
  const answer = await panel.ask(query, signal);
  const other = h("div", { class: "column exact", "aria-live": "polite" }, heading("By exact ℓ2", ""), waiting());
  const column = h("div", { class: "column" });
  panel.found = h("div", { class: "lists" }, column, other);
  const draw = (neighbors) => {
    const agreeing = neighbors && ranks(neighbors.hits);
    const n = neighbors ? answer.hits.filter((hit) => agreeing.has(hit.id)).length : 0;
    column.replaceChildren(heading("By Hamming distance", tied(panel, answer)),
      panel.list(answer.hits, { others: agreeing, otherName: "by exact distance" }));
    if (neighbors) {
      other.replaceChildren(heading("By exact ℓ2", `${n} of ${neighbors.hits.length} agree`),
        panel.list(neighbors.hits, { others: ranks(answer.hits), otherName: "by Hamming distance", distance: byLength }));
    }
    panel.dim();
  };
  draw(null);
  view.querySelector(".answers").replaceChildren(queryCard(answer.query, panel.code), h("div", { class: "card" }, panel.radius.element, panel.found));
  await fillExact(exact, answer, other, draw, signal);
}

async function fillExact(exact, answer, column, draw, signal) {
  const empty = (...text) => column.replaceChildren(heading("By exact ℓ2", ""), h("p", { class: "empty" }, ...text));
  if (!exact) return empty("Start with ", h("code", {}, "--vectors"), " to compare with the exact neighbors.");
  if (!answer.query.has_vector) return empty("This query has no vector.");
  try {
    const neighbors = await exact;
    if (!signal.aborted) draw(neighbors);
  } catch (error) {
    if (error.name !== "AbortError") empty(error.message);
  }
  return undefined;
}

function tied(panel, answer) {
  const last = answer.hits.at(-1);
  const counts = panel.radius.counts?.within;
  const alike = last && counts ? counts[last.hamming] : 0;
  return alike > answer.hits.length ? `the first of ${count(alike)} within ${last.hamming} bits` : "";
}

const heading = (title, note) => h("header", {}, h("h3", {}, title), h("p", { class: "hint" }, note));
const waiting = () => h("p", { class: "empty waiting" }, "Searching …");

async function showCompare(signal) {
  const shown = await Promise.all([0, 1].map((model) => panelOf("compare", model)));
  const view = at("view-compare");
  if (!view.children.length) view.replaceChildren(h("p", { class: "card verdict" }, "Searching …"), ...shown.map((panel) => h("div", { class: "side" }, panel.mapCard, h("div", { class: "answers" }, waiting()))));
  const answers = await Promise.all(shown.map((panel) => panel.ask(here.query, signal)));
  const places = answers.map((answer) => ranks(answer.hits));
  const common = answers[0].hits.filter((hit) => places[1].has(hit.id)).length;
  const [a, b] = shown.map((panel) => panel.about.name);
  const { query } = answers[0];
  view.querySelector(".verdict").replaceChildren(thumbnail(query.image, query.title, "portrait") ?? "", h("span", {},
    h("b", {}, query.title), " ", tag(query.label, about.labels) ?? "", h("br"), `${common} of ${answers[0].hits.length} nearest items in common: ${a} and ${b}`));
  shown.forEach((panel, i) => {
    const hits = panel.list(answers[i].hits, { others: places[1 - i], otherName: `with ${[b, a][i]}` });
    panel.found = h("div", { class: "found" }, heading("By Hamming distance", tied(panel, answers[i])), hits);
    view.querySelectorAll(".answers")[i].replaceChildren(h("div", { class: "card" }, panel.code, panel.radius.element, panel.found));
    panel.dim();
  });
}

async function showBits() {
  const view = at("view-bits");
  if (view.children.length) return;
  view.replaceChildren(h("p", { class: "empty waiting" }, "Counting …"));
  try {
    const known = await Promise.all(about.models.map((_, model) => api.statistics(model)));
    view.replaceChildren(...known.map((each, model) =>
      statisticsPanel(about.models[model], each, about.labels, (query) => go({ view: "explore", query, model }))));
  } catch (error) {
    view.replaceChildren();
    throw error;
  }
}

async function show() {
  turn.abort();
  turn = new AbortController();
  const { signal } = turn;
  here = placeIn(location.hash);
  calm();
  at("tip").hidden = true;
  for (const view of VIEWS) at(`view-${view}`).hidden = view !== here.view;
  for (const tab of document.querySelectorAll(".tabs button")) {
    if (tab.dataset.view === here.view) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  at("ask").hidden = here.view === "bits";
  at("goto").value = here.query.startsWith("item:") ? here.query.slice(5) : "";
  at("model").value = String(here.model);
  at("model-field").hidden = about.models.length < 2 || here.view !== "explore";
  document.body.dataset.busy = "true";
  try {
    await { explore: showExplore, compare: showCompare, bits: showBits }[here.view](signal);
  } catch (error) {
    if (!signal.aborted) {
      complain(error);
      for (const note of document.querySelectorAll(".view:not([hidden]) .waiting")) note.textContent = "Nothing to show.";
    }
  } finally {
    if (!signal.aborted) document.body.dataset.busy = "false";
  }
}

function introduce() {
  const [first] = about.models;
  at("summary").textContent = `${count(about.n_items)} items · ${about.models.map(({ name, n_bits: n }) => `${name} (${n} bits)`).join(" · ")}`;
  document.title = `${first.name} – bitfold explorer`;
  document.querySelector('[data-view="compare"]').hidden = about.models.length < 2;
  at("model").replaceChildren(...about.models.map(({ name, n_bits: n }, i) => h("option", { value: i }, `${name}, ${n} bits`)));
}

function listen() {
  addEventListener("hashchange", show);
  for (const tab of document.querySelectorAll(".tabs button")) tab.addEventListener("click", () => go({ view: tab.dataset.view }));
  at("model").addEventListener("change", (event) => go({ model: Number(event.target.value) }));
  at("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    const id = at("goto").value.trim();
    if (id) go({ query: `item:${id}` });
  });
  at("random").addEventListener("click", () => {
    const { ids } = maps.get(here.model) ?? { ids: [about.first] };
    go({ query: `item:${ids[Math.floor(Math.random() * ids.length)]}` });
  });
  at("theme").addEventListener("click", () => {
    const root = document.documentElement;
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    localStorage.setItem("bitfold-theme", root.dataset.theme);
    for (const panel of panels.values()) panel.map.draw();
  });
  listenForUploads((query) => go({ view: here.view === "compare" ? "compare" : "explore", query }), complain);
}

async function begin() {
  // The cookie contains the token now; remove it from the address and the history.
  if (location.search) history.replaceState(null, "", location.pathname + location.hash);
  try {
    about = await api.about();
  } catch (error) {
    complain(error);
    return;
  }
  introduce();
  at("upload-hint").textContent = about.uploads.image_features
    ? `An image (its ${about.uploads.image_features} are the vector) or a vector of ${about.models[0].n_features} numbers as .npy or text, up to ${about.uploads.max_bytes >> 20} MiB.`
    : `A vector of ${about.models[0].n_features} numbers as .npy or text, up to ${about.uploads.max_bytes >> 20} MiB.`;
  listen();
  show();
}

begin();
