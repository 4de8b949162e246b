// The map: a point per item that can be zoomed, dragged, pinched, outlined and used with the keyboard.

import { h } from "../dom.js";
import { Camera } from "./camera.js";
import { Gestures } from "./gestures.js";
import { boundsOf } from "./grid.js";
import { ImageCache } from "./images.js";
import { PointLayer } from "./layers.js";
import { Marks, Overlay, readInks } from "./overlay.js";

const REACH = 14; // maximum distance in pixels between the pointer and what it points at
const HELP = "Arrow keys go from item to item, Enter makes one the query, plus and minus zoom, "
  + "Shift with arrows moves the map, 0 shows all, Escape removes the selection.";

/** A point (item) or a base point. @typedef {{ kind: "item" | "base", index: number }} Place */

/**
 * @typedef {object} MapEvents
 * @property {(place: Place) => void} onPick
 * @property {(place: Place | null, x: number, y: number, isSpoken: boolean) => void} onHover
 * @property {(polygon: [number, number][] | null) => void} onSelect
 * @property {() => void} onRest called when the view has stopped moving
 */

export class PlaneMap {
  /**
   * @param {Float32Array} positions x and y of each item, y downwards
   * @param {Float32Array} base x and y of each base point
   * @param {{ name: string, hasImages: boolean }} options
   * @param {MapEvents} events
   */
  constructor(positions, base, { name, hasImages }, events) {
    this.positions = positions;
    this.n = positions.length / 2;
    this.events = events;
    this.camera = new Camera(boundsOf(positions, base));
    this.marks = new Marks();
    this.marks.base = base;
    /** @type {Uint8Array} */
    this.levels = new Uint8Array(this.n).fill(1);
    /** @type {Place | null} */
    this.focused = null;
    /** @type {(point: number) => string} color of an item, for the frames of images */
    this.colorAt = () => "gray";
    const canvas = h("canvas", { class: "points", "aria-hidden": "true" });
    this.top = h("canvas", { class: "marks", tabindex: "0", role: "application", "aria-label": `Map of ${this.n} items, ${name}. ${HELP}` });
    this.note = h("p", { class: "nothing", hidden: true }, "No items here. Press 0 or double-click to see the whole map.");
    const plain = h("canvas", { class: "points pixels-layer", "aria-hidden": "true" });
    this.element = h("div", { class: "map" }, canvas, plain, this.top, this.note);
    this.layer = new PointLayer(canvas, plain, positions, this.camera, () => this.onFrame());
    this.overlay = new Overlay(this.top, this.camera, positions);
    this.images = hasImages ? new ImageCache(() => this.drawMarks()) : null;
    this.gestures = new Gestures(this.top, this);
    this.resized = new ResizeObserver(() => this.resize());
    this.resized.observe(this.element);
    this.resting = 0;
    this.hasColors = false; // before they arrive, points are drawn but not visible
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !height) return;
    this.camera.resize(width, height);
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    for (const canvas of [this.layer.canvas, this.layer.pixels.canvas, this.top]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    this.layer.draw();
    this.drawMarks();
  }

  /** @param {number} dx @param {number} dy in pixels */
  pan(dx, dy) {
    this.camera.panBy(dx, dy);
    this.move();
  }

  /** @param {number} factor @param {number} [px] @param {number} [py] */
  zoom(factor, px, py) {
    this.camera.zoomBy(factor, px, py);
    this.move();
  }

  fit() {
    this.camera.fit();
    this.move();
  }

  /** Show a place, moving the map only if it is out of view. @param {number} x @param {number} y */
  reveal(x, y) {
    if (this.camera.width && this.camera.shows(x, y, 12)) return;
    this.camera.moveTo(x, y);
    this.move();
  }

  move() {
    this.events.onHover(null, 0, 0, false);
    this.layer.draw(true);
    this.drawMarks();
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.events.onRest(), 250);
  }

  /** Draw one frame now and wait until it is finished, for measurements. */
  draw() {
    this.layer.paint();
    this.layer.gl?.finish();
  }

  onFrame() {
    this.drawMarks();
    this.element.dataset.complete = String(this.hasColors && this.layer.isComplete);
    if (this.hasColors && this.layer.isComplete && !performance.getEntriesByName("bitfold:first-paint").length) performance.mark("bitfold:first-paint");
    this.note.hidden = this.layer.inView > 0;
  }

  drawMarks() {
    this.marksFrame ||= requestAnimationFrame(() => {
      this.marksFrame = 0;
      if (!this.camera.width) return;
      const images = this.images?.inView(this.layer, this.colorAt, this.levels) ?? [];
      this.element.dataset.images = String(images.length > 0);
      this.overlay.draw(this.marks, this.layer.size, images);
    });
  }

  /** Take over the colors of a changed theme. */
  repaint() {
    this.overlay.inks = readInks();
    this.layer.draw();
  }

  /** @param {Uint8Array} palette */
  setPalette(palette) {
    this.layer.setPalette(palette);
    this.hasColors = true;
    this.layer.draw();
  }

  /** Set 0 (faint), 1 (plain) or 2 (strong) for each item. @param {Uint8Array} levels */
  setLevels(levels) {
    this.levels = levels;
    this.layer.setLevels(levels);
    this.layer.draw();
  }

  /** @param {[number, number] | null} query @param {number[]} hits points of the results */
  setAnswer(query, hits) {
    this.marks.query = query;
    this.marks.hits = hits;
    this.drawMarks();
  }

  /** What is at a pixel. @param {number} px @param {number} py @returns {Place | null} */
  placeAt(px, py) {
    const [x, y] = this.camera.toWorld(px, py);
    const reach = REACH / this.camera.scale;
    const point = this.layer.grid.nearest(x, y, reach, (i) => this.levels[i] > 0);
    const { base, layers } = this.marks;
    let [best, least] = [-1, point < 0 ? reach ** 2 : this.distance(point, x, y)];
    for (let i = 0; layers.has("base") && i < base.length; i += 2) {
      const d = (base[i] - x) ** 2 + (base[i + 1] - y) ** 2;
      if (d < least) [best, least] = [i / 2, d];
    }
    if (best >= 0) return { kind: "base", index: best };
    return point < 0 ? null : { kind: "item", index: point };
  }

  /** @param {number} i @param {number} x @param {number} y */
  distance(i, x, y) {
    return (this.positions[2 * i] - x) ** 2 + (this.positions[2 * i + 1] - y) ** 2;
  }

  /** @param {Place} place @returns {[number, number]} */
  worldOf({ kind, index }) {
    const all = kind === "item" ? this.positions : this.marks.base;
    return [all[2 * index], all[2 * index + 1]];
  }

  /** @param {number} px @param {number} py */
  tap(px, py) {
    const place = this.placeAt(px, py);
    if (place) this.events.onPick(place);
  }

  /** @param {number} px @param {number} py */
  hover(px, py) {
    this.point(this.placeAt(px, py), false);
  }

  leave() {
    this.focused = null;
    this.point(null, false);
  }

  /** @param {Place | null} place @param {boolean} isSpoken */
  point(place, isSpoken) {
    const world = place ? this.worldOf(place) : null;
    const before = this.marks.pointed;
    if (!isSpoken && world?.[0] === before?.[0] && world?.[1] === before?.[1]) return;
    this.marks.pointed = world;
    this.top.classList.toggle("over", place !== null);
    const frame = this.top.getBoundingClientRect();
    const [x, y] = world ? this.camera.toScreen(...world) : [0, 0];
    this.events.onHover(place, frame.left + x, frame.top + y, isSpoken);
    this.drawMarks();
  }

  // Go to the nearest item in a direction; sideways distance counts more.
  /** @param {number} dx @param {number} dy */
  step(dx, dy) {
    const { positions, camera } = this;
    const [x0, y0] = this.focused ? this.worldOf(this.focused) : this.marks.query ?? [camera.x, camera.y];
    let [best, least] = [-1, Infinity];
    for (let i = 0; i < this.n; i++) {
      const [x, y] = [positions[2 * i] - x0, positions[2 * i + 1] - y0];
      const along = x * dx + y * dy;
      const aside = Math.abs(x * dy - y * dx);
      if (along * camera.scale > 0.5 && aside <= along && along + 2 * aside < least && this.levels[i]) [best, least] = [i, along + 2 * aside];
    }
    if (best < 0) return;
    this.focused = { kind: "item", index: best };
    this.reveal(...this.worldOf(this.focused));
    this.point(this.focused, true);
  }

  enter() {
    if (this.focused) this.events.onPick(this.focused);
  }

  cancel() {
    this.marks.polygon = null;
    this.drawMarks();
    this.events.onSelect(null);
  }

  /** @param {[number, number][]} shape in pixels @param {boolean} isDone */
  outline(shape, isDone) {
    this.marks.polygon = shape.map(([px, py]) => this.camera.toWorld(px, py));
    this.drawMarks();
    if (isDone && shape.length > 2) this.events.onSelect(this.marks.polygon);
  }
}
