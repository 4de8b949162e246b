// The map: points on a canvas that can be zoomed, dragged, pinched and used with the keyboard.

import { colorOf } from "./colors.js";
import { h } from "./dom.js";

const MAX_IMAGES = 140; // with fewer points in view they are drawn as images
const RINGS = 800; // with more base points in view they are drawn fainter
const REACH = 14; // maximum distance in pixels between the pointer and the selected point

export class PlaneMap {
  constructor(data, { nLabels, images, name, onPick, onHover }) {
    this.data = data;
    this.nLabels = nLabels;
    this.images = images;
    this.onPick = onPick;
    this.onHover = onHover;
    this.query = null;
    this.hits = new Set();
    this.distances = null;
    this.radius = 0;
    this.only = null;
    this.focused = -1;
    this.pointers = new Map();
    this.images = new Map();
    this.n = data.ids.length;
    this.x = Float64Array.from([...data.x, ...data.base.x]);
    this.y = Float64Array.from([...data.y, ...data.base.y]);
    this.labels = Int32Array.from([...data.labels, ...data.base.labels]);
    this.indexOf = new Map(data.ids.map((id, i) => [id, i]));
    this.canvas = h("canvas", {
      tabindex: "0", role: "application", class: "map",
      "aria-label": `Map of ${this.n} items${data.base.x.length ? ` and ${data.base.x.length} base points` : ""}, ${name}. `
        + "Arrow keys go from item to item, Enter makes one the query, plus and minus zoom, "
        + "Shift with arrows moves the map, 0 shows all.",
    });
    this.listen();
    this.seen = new ResizeObserver(() => this.resize());
    this.seen.observe(this.canvas);
  }

  // The frame that shows everything.
  fit() {
    const low = [Math.min(...this.x), Math.min(...this.y)];
    const high = [Math.max(...this.x), Math.max(...this.y)];
    const room = [this.width - 56, this.height - 56];
    const span = [high[0] - low[0] || 1, high[1] - low[1] || 1];
    this.scale = this.home = Math.min(room[0] / span[0], room[1] / span[1]);
    this.left = (low[0] + high[0]) / 2 - this.width / 2 / this.scale;
    this.top = (low[1] + high[1]) / 2 - this.height / 2 / this.scale;
    this.draw();
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    if (!clientWidth || !clientHeight) return;
    const first = !this.width;
    const middle = first ? null : this.toWorld(this.width / 2, this.height / 2);
    this.width = clientWidth;
    this.height = clientHeight;
    this.density = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(clientWidth * this.density);
    this.canvas.height = Math.round(clientHeight * this.density);
    if (first || this.scale === this.home) return this.fit();
    this.left = middle[0] - this.width / 2 / this.scale;
    this.top = middle[1] - this.height / 2 / this.scale;
    this.draw();
  }

  toScreen(i) {
    return [(this.x[i] - this.left) * this.scale, (this.y[i] - this.top) * this.scale];
  }

  toWorld(px, py) {
    return [this.left + px / this.scale, this.top + py / this.scale];
  }

  zoom(factor, px = this.width / 2, py = this.height / 2) {
    const [x, y] = this.toWorld(px, py);
    this.scale = Math.min(Math.max(this.scale * factor, this.home / 2), this.home * 400);
    this.left = x - px / this.scale;
    this.top = y - py / this.scale;
    this.draw();
  }

  pan(dx, dy) {
    this.left -= dx / this.scale;
    this.top -= dy / this.scale;
    this.draw();
  }

  keyOf(i, model) {
    return i < this.n ? `item:${this.data.ids[i]}` : `base:${model}:${i - this.n}`;
  }

  shows(i) {
    return this.only === null || this.labels[i] === this.only;
  }

  nearest(px, py) {
    let best = -1;
    let least = REACH * REACH;
    for (let i = 0; i < this.x.length; i++) {
      if (!this.shows(i)) continue;
      const [x, y] = this.toScreen(i);
      const d = (x - px) ** 2 + (y - py) ** 2;
      if (d < least) [best, least] = [i, d];
    }
    return best;
  }

  // The nearest item in a direction; sideways distance counts more.
  step(dx, dy) {
    const from = this.focused >= 0 ? this.focused : this.startOfWalk();
    const [x0, y0] = this.toScreen(from);
    let best = -1;
    let least = Infinity;
    for (let i = 0; i < this.n; i++) {
      if (i === from || !this.shows(i)) continue;
      const [x, y] = this.toScreen(i);
      const on = (x - x0) * dx + (y - y0) * dy;
      const aside = Math.abs((x - x0) * dy - (y - y0) * dx);
      const cost = on + 2 * aside;
      if (on > 0.5 && aside <= on && cost < least) [best, least] = [i, cost];
    }
    if (best >= 0) this.focus(best);
  }

  startOfWalk() {
    return (this.query && this.indexOf.get(this.query.id)) ?? 0;
  }

  focus(i) {
    this.focused = i;
    const [x, y] = this.toScreen(i);
    if (x < 20 || y < 20 || x > this.width - 20 || y > this.height - 20) {
      this.left = this.x[i] - this.width / 2 / this.scale;
      this.top = this.y[i] - this.height / 2 / this.scale;
    }
    this.onHover(i, ...this.onPage(i), true);
    this.draw();
  }

  onPage(i) {
    const frame = this.canvas.getBoundingClientRect();
    const [x, y] = this.toScreen(i);
    return [frame.left + x, frame.top + y];
  }

  listen() {
    const { canvas } = this;
    const place = (event) => [event.offsetX, event.offsetY];
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 20 : 1;
      this.zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0018)), ...place(event));
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, place(event));
      this.moved = this.pointers.size > 1;
      this.start = place(event);
    });
    canvas.addEventListener("pointermove", (event) => this.onMove(event, place(event)));
    const up = (event) => {
      const tapped = this.pointers.delete(event.pointerId) && !this.moved && event.type === "pointerup";
      if (!this.pointers.size) canvas.classList.remove("dragged");
      if (tapped) this.pick(this.nearest(...place(event)));
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => this.hover(-1));
    canvas.addEventListener("blur", () => { this.focused = -1; this.hover(-1); this.draw(); });
    canvas.addEventListener("dblclick", (event) => this.zoom(2, ...place(event)));
    canvas.addEventListener("keydown", (event) => this.onKey(event));
  }

  onMove(event, now) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return this.hover(this.nearest(...now));
    if (Math.hypot(now[0] - this.start[0], now[1] - this.start[1]) > 4) this.moved = true;
    if (this.pointers.size === 1) {
      if (!this.moved) return undefined;
      this.canvas.classList.add("dragged");
      this.pan(now[0] - before[0], now[1] - before[1]);
    } else {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const apart = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
      this.pan((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
      this.zoom(apart(now) / apart(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    }
    this.pointers.set(event.pointerId, now);
    return undefined;
  }

  onKey(event) {
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const arrow = arrows[event.key];
    if (arrow && event.shiftKey) this.pan(-60 * arrow[0], -60 * arrow[1]);
    else if (arrow) this.step(...arrow);
    else if (event.key === "+" || event.key === "=") this.zoom(1.3);
    else if (event.key === "-") this.zoom(1 / 1.3);
    else if (event.key === "0") this.fit();
    else if ((event.key === "Enter" || event.key === " ") && this.focused >= 0) this.pick(this.focused);
    else return;
    event.preventDefault();
  }

  hover(i) {
    if (i === this.hovered) return;
    this.hovered = i;
    this.canvas.classList.toggle("over", i >= 0);
    if (i >= 0) this.onHover(i, ...this.onPage(i), false);
    else this.onHover(-1);
    this.draw();
  }

  pick(i) {
    if (i >= 0) this.onPick(i);
  }

  setAnswer(query, hits) {
    this.query = query;
    this.hits = new Set(hits.map((hit) => this.indexOf.get(hit.id)).filter((i) => i !== undefined));
    this.distances = null;
    this.draw();
  }

  setDistances(distances) {
    this.distances = distances;
    this.draw();
  }

  setRadius(radius) {
    this.radius = radius;
    this.draw();
  }

  setOnly(label) {
    this.only = label;
    this.draw();
  }

  draw() {
    if (this.waiting || !this.width) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.paint();
    });
  }

  paint() {
    const context = this.canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink").trim();
    const ground = style.getPropertyValue("--card").trim();
    context.setTransform(this.density, 0, 0, this.density, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const inView = this.inView();
    const drawn = this.images && inView.length <= MAX_IMAGES;
    this.canvas.dataset.images = drawn;
    const size = Math.min(2.2 * Math.sqrt(this.scale / this.home), 6) * Math.min(1, Math.max(0.6, this.width / 560));
    for (const i of inView) {
      if (drawn) this.paintPicture(context, i);
      else this.paintPoint(context, i, size);
    }
    this.paintBase(context, size + 1.4, ink);
    context.globalAlpha = 1;
    for (const i of this.hits) this.ring(context, ...this.toScreen(i), drawn ? 20 : size + 3.5, ink, 1.5);
    if (this.query?.position) this.paintQuery(context, ink, ground);
    const pointed = this.focused >= 0 ? this.focused : this.hovered;
    if (pointed >= 0) this.ring(context, ...this.toScreen(pointed), drawn ? 22 : size + 6, ink, 2);
  }

  inView(first = 0, end = this.n) {
    const seen = [];
    for (let i = first; i < end; i++) {
      const [x, y] = this.toScreen(i);
      if (x > -20 && y > -20 && x < this.width + 20 && y < this.height + 20) seen.push(i);
    }
    return seen;
  }

  opacity(i) {
    if (!this.shows(i)) return 0.06;
    if (this.distances === null) return 0.75;
    return this.distances[i] <= this.radius ? 1 : 0.38;
  }

  paintPoint(context, i, size) {
    const [x, y] = this.toScreen(i);
    context.globalAlpha = this.opacity(i);
    context.fillStyle = colorOf(this.labels[i], this.nLabels);
    context.beginPath();
    context.arc(x, y, this.distances?.[i] <= this.radius ? size + 0.7 : size, 0, 2 * Math.PI);
    context.fill();
  }

  paintPicture(context, i) {
    const image = this.imageOf(i);
    if (!image.complete || !image.naturalWidth) return this.paintPoint(context, i, 4);
    const [x, y] = this.toScreen(i);
    const scale = 30 / Math.max(image.naturalWidth, image.naturalHeight);
    const [w, hgt] = [image.naturalWidth * scale, image.naturalHeight * scale];
    context.globalAlpha = this.shows(i) ? Math.max(this.opacity(i), 0.6) : 0.06;
    context.imageSmoothingEnabled = scale < 1;
    context.drawImage(image, x - w / 2, y - hgt / 2, w, hgt);
    context.strokeStyle = colorOf(this.labels[i], this.nLabels);
    context.lineWidth = 2;
    context.strokeRect(x - w / 2 - 1, y - hgt / 2 - 1, w + 2, hgt + 2);
    return undefined;
  }

  imageOf(i) {
    let image = this.images.get(i);
    if (!image) {
      image = new Image();
      image.src = `/api/items/${this.data.ids[i]}/image`;
      image.addEventListener("load", () => this.draw());
      this.images.set(i, image);
      if (this.images.size > 600) this.images.delete(this.images.keys().next().value);
    }
    return image;
  }

  paintBase(context, size, ink) {
    const seen = this.inView(this.n, this.x.length);
    // Thousands of rings would hide the items; after zooming in there are fewer.
    const strength = 0.45 * Math.min(1, Math.max(0.1, RINGS / seen.length));
    for (const i of seen) {
      context.globalAlpha = this.shows(i) ? strength : Math.min(0.08, strength);
      this.ring(context, ...this.toScreen(i), size, ink, 1);
    }
  }

  paintQuery(context, ink, ground) {
    const [px, py] = this.query.position;
    const x = (px - this.left) * this.scale;
    const y = (py - this.top) * this.scale;
    this.ring(context, x, y, 9, ground, 6);
    this.ring(context, x, y, 9, ink, 2.5);
    context.strokeStyle = ink;
    context.lineWidth = 2;
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.beginPath();
      context.moveTo(x + 9 * dx, y + 9 * dy);
      context.lineTo(x + 15 * dx, y + 15 * dy);
      context.stroke();
    }
  }

  ring(context, x, y, radius, color, width) {
    context.strokeStyle = color;
    context.lineWidth = width;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.stroke();
  }
}
