// The points of the map, drawn as fast as the machine can: by the graphics card if there is one,
// and otherwise, where there are many, pixel by pixel.

import { CanvasPoints } from "./canvas.js";
import { Grid } from "./grid.js";
import { GlPoints } from "./webgl.js";

/** @typedef {import("./camera.js").Camera} Camera */

const FRAME = 22; // milliseconds per frame for points
const SMOOTH = 30; // milliseconds between frames below which more pixels are drawn while moving
const SLOW = 50; // milliseconds between frames above which fewer are drawn
const MIN_PIXELS = 60_000;
const PAUSE = 120; // milliseconds without movement after which everything is drawn
const TRIAL = 20_000; // points drawn to find out how fast the graphics are

export class PointLayer {
  /**
   * @param {HTMLCanvasElement} canvas for the graphics card
   * @param {HTMLCanvasElement} plain for pixels
   * @param {Float32Array} positions
   * @param {Camera} camera
   * @param {() => void} onFrame called after each frame
   */
  constructor(canvas, plain, positions, camera, onFrame) {
    this.positions = positions;
    this.n = positions.length / 2;
    this.camera = camera;
    this.onFrame = onFrame;
    this.canvas = canvas;
    this.gl = openGl(canvas, positions, () => this.draw());
    this.pixels = new CanvasPoints(plain, positions);
    this.frame = 0;
    this.isComplete = false;
    this.budget = 0; // points that the graphics can draw per frame; 0 until it is measured
    this.limit = this.n; // pixels per frame while moving
    this.last = 0; // time of the last frame while moving
    this.resting = 0;
    this.isMoving = false;
    this.room = new Uint32Array(0);
    /** @type {Grid | null} */
    this.sorted = null;
    this.size = 2;
    /** Statistics for measurements. */
    this.stats = { frames: 0, points: 0, kind: "" };
  }

  /** Made when it is first needed, because sorting a million points would delay the first picture. */
  get grid() {
    this.sorted ??= new Grid(this.positions);
    return this.sorted;
  }

  get kind() {
    return this.gl ? "webgl2" : "canvas";
  }

  /** The number of points in view, counted by cells. */
  get inView() {
    return this.camera.zoom <= 1 && this.camera.isHome ? this.n : this.grid.count(this.camera.box());
  }

  /** @param {Uint8Array} shades the entry of the palette of each point */
  setShades(shades) {
    this.pixels.setShades(shades);
    this.gl?.setShades(shades);
  }

  /** @param {Uint8Array} levels 0 (faint), 1 (plain) or 2 (strong) for each point */
  setLevels(levels) {
    this.pixels.setLevels(levels);
    this.gl?.setLevels(levels);
  }

  /** @param {Uint8Array} palette */
  setPalette(palette) {
    this.pixels.setPalette(palette);
    this.gl?.setPalette(palette);
  }

  /** Draw soon; while moving, only as many points as are smooth. @param {boolean} moving */
  draw(moving = false) {
    this.isComplete = false;
    if (moving) {
      this.isMoving = true;
      clearTimeout(this.resting);
      this.resting = setTimeout(() => { this.isMoving = false; this.last = 0; this.draw(); }, PAUSE);
    }
    this.frame ||= requestAnimationFrame((now) => { this.frame = 0; this.adapt(now); this.paint(); });
  }

  /** Fit the number of pixels to the time between frames. @param {number} now */
  adapt(now) {
    if (!this.isMoving) return;
    const elapsed = now - this.last;
    if (this.last && elapsed > SLOW) this.limit *= Math.max(0.5, SLOW / elapsed);
    else if (this.last && elapsed < SMOOTH) this.limit *= 1.1;
    this.limit = Math.round(Math.min(Math.max(this.limit, MIN_PIXELS), this.n));
    this.last = now;
  }

  paint() {
    const { camera } = this;
    if (!camera.width) return;
    const n = this.inView;
    // Spacing of the points in view if they were spread evenly, in pixels.
    const spacing = Math.sqrt((camera.width * camera.height) / Math.max(n, 1));
    this.size = Math.min(Math.max(1.15 * spacing ** 0.7, 1.5), 10);
    const style = { size: this.size, alpha: Math.min(Math.max(0.3 + 0.12 * spacing, 0.4), 0.85), ratio: this.canvas.width / camera.width };
    if (this.gl && n <= this.budgetFor(n, style)) this.paintGl(this.gl, style, n);
    else {
      this.show(this.pixels.canvas);
      // Points of a grid are scattered in memory: passing over those out of view is faster.
      const limit = this.isMoving ? Math.min(this.limit, this.n) : this.n;
      this.pixels.draw(camera, style, n > Math.min(limit, this.n / 8) ? null : this.grid, limit);
      this.stats.kind = "pixels";
    }
    this.stats.frames++;
    this.stats.points = n;
    this.isComplete = !this.isMoving;
    this.onFrame();
  }

  /** Show one of the two canvases; browsers without a graphics card take long to blend both. @param {HTMLCanvasElement} used */
  show(used) {
    for (const canvas of [this.canvas, this.pixels.canvas]) canvas.hidden = canvas !== used;
  }

  /** @param {GlPoints} gl @param {import("./webgl.js").PointStyle} style @param {number} n */
  paintGl(gl, style, n) {
    this.show(this.canvas);
    gl.begin(this.camera, style);
    if (n > this.n / 2) gl.drawRange(0, this.n);
    else {
      if (this.room.length < n) this.room = new Uint32Array(2 * n);
      gl.drawListed(this.room.subarray(0, this.grid.gather(this.camera.box(12), this.room)));
    }
    this.stats.kind = "points";
  }

  // The first picture of many points does not wait for the measurement.
  /** @param {number} n @param {import("./webgl.js").PointStyle} style */
  budgetFor(n, style) {
    if (this.budget || n <= 5 * TRIAL) return this.measured(style);
    setTimeout(() => { if (this.measured(style) >= this.n) this.draw(); }, 500);
    return 0;
  }

  /** Return how many points the graphics draw per frame, measured once. @param {import("./webgl.js").PointStyle} style */
  measured(style) {
    if (!this.budget && this.gl) {
      const n = Math.min(TRIAL, this.n);
      const times = [0, 1, 2].map(() => {
        const start = performance.now();
        this.gl?.begin(this.camera, style);
        this.gl?.drawRange(0, n);
        this.gl?.finish();
        return performance.now() - start;
      });
      this.gl.clear();
      this.budget = Math.max(5000, (FRAME * n) / Math.max(Math.min(...times), 0.05));
    }
    return this.budget;
  }
}

/** @param {HTMLCanvasElement} canvas @param {Float32Array} positions @param {() => void} onRestored */
function openGl(canvas, positions, onRestored) {
  try {
    if (new URLSearchParams(location.search).has("canvas")) return null;
    return new GlPoints(canvas, positions, onRestored);
  } catch {
    return null;
  }
}
