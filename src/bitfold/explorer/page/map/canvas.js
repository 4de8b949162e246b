// Draws points pixel by pixel on a plain canvas.
//
// A processor writes a million pixels in about 10 ms, but takes a second to emulate a graphics card
// that draws a million points. So this is for dense views without a graphics card, and for browsers
// without WebGL2. Points are drawn in random order, so the color of a pixel is a fair sample.

/** @typedef {import("./camera.js").Camera} Camera */
/** @typedef {import("./grid.js").Grid} Grid */
/** @typedef {import("./webgl.js").PointStyle} PointStyle */

const COVER = 0.5; // opacity of one point; several on a pixel add up
const MANY = 1500; // more strong points than this are drawn smaller, or they would hide the shape
const FAINT = 16; // opacity, of 255, of points that are filtered out

export class CanvasPoints {
  /** @param {HTMLCanvasElement} canvas @param {Float32Array} positions */
  constructor(canvas, positions) {
    this.canvas = canvas;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    this.positions = positions;
    /** @type {Uint8Array} */
    this.shades = new Uint8Array(positions.length / 2);
    /** @type {Uint8Array} */
    this.levels = new Uint8Array(positions.length / 2).fill(1);
    this.colors = new Uint32Array(256);
    this.image = new ImageData(1, 1);
    this.pixels = new Uint32Array(1);
    this.cover = new Uint32Array(1);
    this.tints = new Uint32Array(0); // color of each point
    this.isStale = true; // whether tints must be computed
    /** @type {number[]} */
    this.strong = [];
    this.hasFaint = false;
    this.k = 1; // pixels per unit of the map, and the pixel of its origin
    this.left = 0;
    this.top = 0;
    this.isShown = false;
  }

  /** @param {Uint8Array} palette 256 colors, red, green, blue, alpha */
  setPalette(palette) {
    this.colors = new Uint32Array(palette.slice().buffer);
    this.isStale = true;
  }

  clear() {
    if (this.isShown) this.context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.isShown = false;
  }

  /** @param {Uint8Array} shades */
  setShades(shades) {
    this.shades = shades;
    this.isStale = true;
  }

  /** @param {Uint8Array} levels */
  setLevels(levels) {
    this.levels = levels;
    this.isStale = true;
    this.strong = [];
    for (let i = levels.indexOf(2); i >= 0; i = levels.indexOf(2, i + 1)) this.strong.push(i);
    this.hasFaint = levels.includes(0);
  }

  /**
   * Draw the points in view.
   * @param {Camera} camera
   * @param {PointStyle} style
   * @param {Grid | null} grid finds the points in view; null if most are
   * @param {number} limit number of points to draw, for a fast frame
   */
  draw(camera, { size, ratio }, grid, limit) {
    this.prepare();
    this.k = camera.scale * ratio;
    this.left = (camera.width / 2 - camera.x * camera.scale) * ratio;
    this.top = (camera.height / 2 - camera.y * camera.scale) * ratio;
    const side = Math.min(Math.max(Math.round(size * ratio * 0.75), 1), 4);
    if (grid) for (const [first, end] of grid.spans(camera.box(4))) this.add(grid.order, first, end, side);
    else if (side > 1 || this.hasFaint) this.add(null, 0, limit, side);
    else this.addFast(limit);
    this.compose();
    for (const i of this.strong) if (i < limit) this.block(i, side + (this.strong.length > MANY ? 1 : 2));
    this.context.putImageData(this.image, 0, 0);
    this.isShown = true;
  }

  prepare() {
    const { width, height } = this.canvas;
    if (this.isStale) {
      if (this.tints.length !== this.shades.length) this.tints = new Uint32Array(this.shades.length);
      for (let i = 0; i < this.shades.length; i++) this.tints[i] = this.colors[this.shades[i]];
      this.isStale = false;
    }
    if (this.image.width !== width || this.image.height !== height) {
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.cover = new Uint32Array(width * height);
    } else {
      this.pixels.fill(0);
      this.cover.fill(0);
    }
  }

  // The loop that counts: one pixel per point, in the order of memory.
  /** @param {number} n */
  addFast(n) {
    const { positions, tints, pixels, cover, k, left, top } = this;
    const { width, height } = this.canvas;
    for (let i = 0, j = 0; i < n; i++, j += 2) {
      const x = positions[j] * k + left;
      const y = positions[j + 1] * k + top;
      if (x >= 0 && y >= 0 && x < width && y < height) {
        const p = (y | 0) * width + (x | 0);
        pixels[p] = tints[i];
        cover[p]++;
      }
    }
  }

  /** @param {Uint32Array | null} order @param {number} first @param {number} end @param {number} side */
  add(order, first, end, side) {
    const { positions, tints, levels, pixels, cover, k, left, top } = this;
    const { width, height } = this.canvas;
    for (let j = first; j < end; j++) {
      const i = order ? order[j] : j;
      const x = Math.floor(positions[2 * i] * k + left);
      const y = Math.floor(positions[2 * i + 1] * k + top);
      if (x < 0 || y < 0 || x >= width - side || y >= height - side) continue;
      for (let row = 0; row < side; row++) {
        for (let p = (y + row) * width + x; p < (y + row) * width + x + side; p++) {
          if (levels[i]) cover[p]++;
          if (levels[i] || !pixels[p]) pixels[p] = tints[i];
        }
      }
    }
  }

  // The more points on a pixel, the less of the background is visible.
  compose() {
    const { pixels, cover } = this;
    const opacity = Array.from({ length: 256 }, (_, n) => (n ? 1 - (1 - COVER) ** n : FAINT / 255));
    for (let p = 0; p < pixels.length; p++) {
      const color = pixels[p];
      if (color) pixels[p] = (color & 0xffffff) | (((color >>> 24) * opacity[Math.min(cover[p], 255)]) << 24);
    }
  }

  /** @param {number} i @param {number} side */
  block(i, side) {
    const { positions, pixels, k, left, top } = this;
    const { width, height } = this.canvas;
    const x0 = Math.floor(positions[2 * i] * k + left) - (side > 2 ? 1 : 0);
    const y0 = Math.floor(positions[2 * i + 1] * k + top) - (side > 2 ? 1 : 0);
    for (let y = Math.max(y0, 0); y < Math.min(y0 + side, height); y++) {
      for (let x = Math.max(x0, 0); x < Math.min(x0 + side, width); x++) pixels[y * width + x] = this.tints[i];
    }
  }
}
