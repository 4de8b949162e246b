// The map of one model with its colors, legend, tools and key.

import * as api from "./api.js";
import { colorOf, paletteOf, shadesOf } from "./colors.js";
import { count, h, info, percent, say } from "./dom.js";
import { colorControl, defaultColor, legendOf } from "./legend.js";
import { SHARES } from "./map/contours.js";
import { PlaneMap } from "./map/map.js";
import { symbol, toolbar, zoomers } from "./tools.js";
import { hideTip, showTip } from "./tip.js";

/** @typedef {import("./session.js").Session} Session */
/** @typedef {import("./session.js").MapData} MapData */
/** @typedef {import("./types.js").Answer} Answer */
/** @typedef {import("./types.js").Legend} Legend */

export class MapCard {
  /** @param {Session} session @param {number} model @param {MapData} data @param {import("./dom.js").Child} [header] */
  constructor(session, model, data, header) {
    this.session = session;
    this.model = model;
    this.about = session.about.models[model];
    this.map = new PlaneMap(data.positions, data.base, { name: this.about.name, hasImages: session.about.has_images }, {
      onPick: ({ kind, index }) => session.go({ query: kind === "item" ? `point:${index}` : `base:${model}:${index}` }),
      onHover: (place, x, y, isSpoken) => this.hover(place, x, y, isSpoken),
      onSelect: (polygon) => session.go({ view: "explore", model, select: polygon && polygon.map(([x, y]) => [x, 1 - y]) }),
      onRest: () => this.noteView(),
    });
    /** @type {Legend | null} */
    this.legend = null;
    this.by = "";
    this.query = "";
    this.filter = "";
    /** @type {Uint16Array | null} */
    this.values = null;
    /** @type {Uint8Array | null} 1 for items that match the filter */
    this.matches = null;
    /** @type {Uint16Array | null} bits between each item and the query */
    this.distances = null;
    this.radius = 0;
    this.isLegendOpen = false;
    this.control = colorControl(session.about, this.about, (color) => session.go({ color, only: null }));
    this.legendBox = h("div", { class: "legend-box" });
    this.key = h("p", { class: "key-row" });
    this.bar = toolbar(this.map, this.layerNames(data), (layers) => session.go({ layers }));
    this.element = h("div", { class: "card map-card" }, header,
      h("div", { class: "map-head" }, this.control.element, this.bar.element),
      h("div", { class: "map-box" }, this.map.element, zoomers(this.map)),
      h("footer", {}, this.legendBox, h("div", { class: "map-foot" }, this.key, info(this.explanation(data), "the map"))));
  }

  /** @param {MapData} data @returns {[string, string][]} */
  layerNames(data) {
    const names = [["contours", "density lines"], ["names", "region names"], ["base", `base points (${count(data.base.length / 2)})`]];
    return /** @type {[string, string][]} */ (data.base.length ? names : names.slice(0, 2));
  }

  /** @param {MapData} data */
  explanation(data) {
    return `${data.explanation} The axes have no meaning. Density lines enclose ${SHARES.map((share) => percent(share)).join(", ")} of the items.`;
  }

  /** The layers to show: those chosen, or what suits the data. */
  get layers() {
    const { layers } = this.session.state;
    if (layers) return new Set(layers.split(","));
    return new Set(this.session.about.has_labels ? ["names"] : ["names", "contours"]);
  }

  noteView() {
    const { camera } = this.map;
    if (this.session.state.model !== this.model || this.session.state.view !== "explore") return;
    this.session.note({ at: camera.isHome ? null : [camera.x, 1 - camera.y, camera.zoom] });
  }

  /** @param {import("./map/map.js").Place | null} place @param {number} x @param {number} y @param {boolean} isSpoken */
  hover(place, x, y, isSpoken) {
    if (!place) {
      hideTip();
      return;
    }
    const distance = place.kind === "item" && this.distances ? this.distances[place.index] : null;
    showTip(this.session, this.model, place, x, y, { isSpoken, distance });
  }

  /** Show the state of the page on the map. @param {AbortSignal} signal */
  async update(signal) {
    const { state } = this.session;
    const by = state.color || defaultColor(this.session.about);
    this.control.set(by);
    this.bar.set(this.layers);
    this.map.marks.layers = this.layers;
    this.map.marks.polygon = state.select && state.model === this.model ? state.select.map(([x, y]) => [x, 1 - y]) : null;
    this.place();
    await Promise.all([this.color(by, signal), this.applyFilter(signal), this.loadLayers()]);
    this.drawKey();
    this.map.drawMarks();
  }

  // Move to the place in the address, once after it was read from there.
  place() {
    const { at, model } = this.session.state;
    const { camera } = this.map;
    const isThere = at && Math.abs(camera.x - at[0]) < 1e-3 / at[2] && Math.abs(camera.y - 1 + at[1]) < 1e-3 / at[2] && Math.abs(camera.zoom / at[2] - 1) < 1e-3;
    if (!at || isThere || model !== this.model) return;
    const move = () => { camera.moveTo(at[0], 1 - at[1], at[2]); this.map.move(); };
    if (camera.width) move();
    else requestAnimationFrame(() => requestAnimationFrame(move)); // the first size comes with the first layout
  }

  /** @param {string} by @param {AbortSignal} signal */
  async color(by, signal) {
    const query = by === "distance" ? this.session.query : undefined;
    const name = `${by} ${query ?? ""}`;
    if (name !== this.by) {
      const [legend, values] = await Promise.all([api.legend(this.model, by, query, signal), api.colors(this.model, by, query, signal)]);
      if (signal.aborted) return;
      [this.by, this.legend, this.values] = [name, legend, values];
      this.map.layer.setShades(shadesOf(values, legend));
      this.map.colorAt = (point) => colorOf(legend, legend.kind === "categories" && values[point] < 65534 ? values[point] : -1);
    }
    this.paint();
  }

  // Colors of the palette; also after a change of the theme or of the one category shown.
  paint() {
    if (!this.legend) return;
    const { only } = this.session.state;
    this.map.setPalette(paletteOf(this.legend, only));
    const more = { isOpen: this.isLegendOpen, onOpen: () => { this.isLegendOpen = !this.isLegendOpen; this.paint(); } };
    this.legendBox.replaceChildren(legendOf(this.legend, only, (category) => this.session.go({ only: category }), more));
  }

  /** @param {AbortSignal} signal */
  async applyFilter(signal) {
    const { filter } = this.session;
    const name = JSON.stringify(filter);
    if (name === this.filter) return;
    const isOpen = !filter.where && !filter.find;
    this.matches = isOpen ? null : await api.matches(filter, signal);
    this.filter = name;
    this.setLevels();
  }

  async loadLayers() {
    const { marks } = this.map;
    const { session, model } = this;
    if (marks.layers.has("names")) marks.regions = await session.regions(model);
    if (marks.layers.has("contours")) marks.contours = await session.contours(model);
  }

  /** @param {Answer} answer @param {import("./types.js").Hit[]} hits */
  showAnswer({ query }, hits) {
    // The first query is shown where the address says, later ones wherever they are.
    const isNext = this.query !== "" && this.query !== query.key;
    if (this.query !== query.key) this.distances = null;
    this.query = query.key;
    const position = /** @type {[number, number] | null} */ (query.position && [query.position[0], 1 - query.position[1]]);
    this.map.setAnswer(position, hits.map((hit) => hit.point));
    if (isNext && position) this.map.reveal(...position);
  }

  clearAnswer() {
    this.query = "";
    this.distances = null;
    this.map.setAnswer(null, []);
    this.setLevels();
  }

  /** Load the distance of every item to the query. @param {string} query @param {AbortSignal} signal */
  async loadDistances(query, signal) {
    const values = await api.colors(this.model, "distance", query, signal);
    if (signal.aborted) return;
    const { n_bits: nBits } = this.about;
    this.distances = values.map((value) => (value >= 65534 ? 65535 : Math.round((value / 65533) * nBits)));
    this.setLevels();
  }

  /** @param {number} radius */
  setRadius(radius) {
    this.radius = radius;
    this.setLevels();
  }

  setLevels() {
    const { distances, matches, radius } = this;
    const levels = new Uint8Array(this.map.n);
    for (let i = 0; i < levels.length; i++) {
      if (matches && !matches[i]) levels[i] = 0;
      else levels[i] = distances && distances[i] <= radius ? 2 : 1;
    }
    this.map.setLevels(levels);
  }

  drawKey() {
    const { layers } = this.map.marks;
    this.key.replaceChildren(...[
      symbol("query", "the query"), symbol("hit", "found"), symbol("strong", "within the radius"),
      layers.has("base") ? symbol("base", "base point") : null, this.matches ? symbol("faint", "filtered out") : null,
      h("span", {}, "Click a point to search with it."),
    ].filter((each) => each !== null));
    if (this.matches) say(`${count(this.matches.reduce((a, b) => a + b, 0))} items match the filter`);
  }
}
