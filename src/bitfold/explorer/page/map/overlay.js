// Marks and names above the points: contours, base points, results, the query, images, the selection.

/** @typedef {import("./camera.js").Camera} Camera */
/** @typedef {import("../types.js").Region} Region */

const MAX_RINGS = 1500; // base points drawn per frame
const SIZE_OF_IMAGE = 30;

/** What the marks show; positions are in world coordinates. */
export class Marks {
  constructor() {
    /** @type {[number, number] | null} */
    this.query = null;
    /** @type {number[]} points of the results */
    this.hits = [];
    /** @type {Float32Array} x and y of the base points */
    this.base = new Float32Array(0);
    /** @type {Region[]} */
    this.regions = [];
    /** @type {Float32Array[]} */
    this.contours = [];
    /** @type {[number, number][] | null} */
    this.polygon = null;
    /** @type {[number, number] | null} what the pointer or the keyboard is at */
    this.pointed = null;
    /** @type {Set<string>} */
    this.layers = new Set();
  }
}

/** @typedef {{ ink: string, ground: string, accent: string, soft: string }} Inks */

/** @returns {Inks} */
export function readInks() {
  const style = getComputedStyle(document.documentElement);
  const read = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  return { ink: read("--ink"), ground: read("--card"), accent: read("--accent"), soft: read("--soft") };
}

export class Overlay {
  /** @param {HTMLCanvasElement} canvas @param {Camera} camera @param {Float32Array} positions */
  constructor(canvas, camera, positions) {
    this.canvas = canvas;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    this.camera = camera;
    this.positions = positions;
    this.inks = readInks();
    /** @type {Map<Float32Array, Path2D>} */
    this.paths = new Map();
  }

  /** @param {Marks} marks @param {number} size of the points @param {{ image: HTMLImageElement, point: number, color: string }[]} images */
  draw(marks, size, images) {
    const { context, camera, inks } = this;
    const ratio = this.canvas.width / Math.max(camera.width, 1);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, camera.width, camera.height);
    if (marks.layers.has("contours")) this.drawContours(marks.contours, ratio);
    for (const each of images) this.drawImage(each.image, each.point, each.color);
    if (marks.layers.has("base")) this.drawBase(marks.base, Math.max(size / 2 + 1.6, 3));
    const reach = images.length ? SIZE_OF_IMAGE * 0.72 : Math.max(size / 2 + 3.5, 5);
    for (const i of marks.hits) this.ring(...camera.toScreen(this.positions[2 * i], this.positions[2 * i + 1]), reach, inks.ink, 1.6);
    if (marks.layers.has("names")) this.drawNames(marks.regions);
    if (marks.query) this.drawQuery(...camera.toScreen(...marks.query));
    if (marks.pointed) this.ring(...camera.toScreen(...marks.pointed), reach + 2.5, inks.accent, 2.5);
    if (marks.polygon) this.drawPolygon(marks.polygon);
  }

  /** @param {Float32Array[]} contours @param {number} ratio */
  drawContours(contours, ratio) {
    const { context, camera } = this;
    context.save();
    const k = camera.scale * ratio;
    context.setTransform(k, 0, 0, k, ratio * (camera.width / 2 - camera.x * camera.scale), ratio * (camera.height / 2 - camera.y * camera.scale));
    context.strokeStyle = this.inks.ink;
    context.lineWidth = 1 / camera.scale;
    contours.forEach((segments, i) => {
      context.globalAlpha = 0.55 - 0.1 * i;
      context.stroke(this.pathOf(segments));
    });
    context.restore();
  }

  /** @param {Float32Array} segments */
  pathOf(segments) {
    let path = this.paths.get(segments);
    if (!path) {
      path = new Path2D();
      for (let i = 0; i < segments.length; i += 4) {
        path.moveTo(segments[i], segments[i + 1]);
        path.lineTo(segments[i + 2], segments[i + 3]);
      }
      this.paths.set(segments, path);
    }
    return path;
  }

  /** @param {HTMLImageElement} image @param {number} point @param {string} color */
  drawImage(image, point, color) {
    const { context } = this;
    const [x, y] = this.camera.toScreen(this.positions[2 * point], this.positions[2 * point + 1]);
    const scale = SIZE_OF_IMAGE / Math.max(image.naturalWidth, image.naturalHeight);
    const [w, t] = [image.naturalWidth * scale, image.naturalHeight * scale];
    context.imageSmoothingEnabled = scale < 1;
    context.drawImage(image, x - w / 2, y - t / 2, w, t);
    context.strokeStyle = color;
    context.lineWidth = 2;
    context.strokeRect(x - w / 2 - 1, y - t / 2 - 1, w + 2, t + 2);
  }

  /** @param {Float32Array} base @param {number} radius */
  drawBase(base, radius) {
    const { context, camera } = this;
    const box = camera.box(8);
    context.strokeStyle = this.inks.ink;
    context.lineWidth = 1;
    context.globalAlpha = 0.55;
    let left = MAX_RINGS;
    for (let i = 0; i < base.length && left; i += 2) {
      const [x, y] = [base[i], base[i + 1]];
      if (x < box.left || x > box.right || y < box.top || y > box.bottom) continue;
      const [px, py] = camera.toScreen(x, y);
      context.strokeRect(px - radius * 0.7, py - radius * 0.7, radius * 1.4, radius * 1.4);
      left--;
    }
    context.globalAlpha = 1;
  }

  // Larger regions first; a name that would cover another is left out until there is room.
  /** @param {Region[]} regions */
  drawNames(regions) {
    const { context, inks } = this;
    context.font = "600 12px system-ui, 'DejaVu Sans', sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    /** @type {[number, number, number, string][]} */
    const placed = [];
    for (const region of regions) {
      if (!region.name) continue;
      const [x, y] = this.camera.toScreen(region.x, region.y);
      const name = region.name.length > 34 ? `${region.name.slice(0, 33)}…` : region.name;
      const half = context.measureText(name).width / 2 + 6;
      if (x - half < 0 || x + half > this.camera.width || y < 10 || y > this.camera.height - 10) continue;
      if (placed.some(([px, py, other]) => Math.abs(px - x) < half + other && Math.abs(py - y) < 19)) continue;
      // Neighboring regions of one name need it once.
      if (placed.some(([px, py, , other]) => other === name && Math.hypot(px - x, py - y) < 150)) continue;
      placed.push([x, y, half, name]);
      context.strokeStyle = inks.ground;
      context.lineWidth = 4;
      context.strokeText(name, x, y);
      context.fillStyle = inks.ink;
      context.fillText(name, x, y);
    }
  }

  /** @param {number} x @param {number} y */
  drawQuery(x, y) {
    const { context, inks } = this;
    for (const [color, width] of /** @type {[string, number][]} */ ([[inks.ground, 6], [inks.ink, 2.5]])) {
      this.ring(x, y, 9, color, width);
      context.beginPath();
      for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        context.moveTo(x + 9 * dx, y + 9 * dy);
        context.lineTo(x + 16 * dx, y + 16 * dy);
      }
      context.stroke();
    }
  }

  /** @param {[number, number][]} polygon */
  drawPolygon(polygon) {
    const { context, inks } = this;
    context.beginPath();
    for (const [x, y] of polygon) context.lineTo(...this.camera.toScreen(x, y));
    context.closePath();
    context.globalAlpha = 0.1;
    context.fillStyle = inks.accent;
    context.fill();
    context.globalAlpha = 1;
    context.setLineDash([6, 4]);
    context.strokeStyle = inks.accent;
    context.lineWidth = 2;
    context.stroke();
    context.setLineDash([]);
  }

  /** @param {number} x @param {number} y @param {number} radius @param {string} color @param {number} width */
  ring(x, y, radius, color, width) {
    const { context } = this;
    context.strokeStyle = color;
    context.lineWidth = width;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.stroke();
  }
}
