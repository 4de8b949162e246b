// The part of the plane that is in view. World y points down, as on the screen.

const MARGIN = 28; // pixels around the data when everything is shown
const MIN_ZOOM = 0.7;
const MAX_ZOOM = 4000;

/** @typedef {{ left: number, top: number, right: number, bottom: number }} Box */

/** Maps world coordinates to pixels, within bounds that always keep the data reachable. */
export class Camera {
  /** @param {Box} bounds */
  constructor(bounds) {
    this.bounds = bounds;
    this.width = 0;
    this.height = 0;
    this.x = 0;
    this.y = 0;
    this.scale = 1;
    this.home = 1;
  }

  /** Scale relative to the view that shows everything. */
  get zoom() {
    return this.scale / this.home;
  }

  get isHome() {
    return this.zoom === 1 && this.x === (this.bounds.left + this.bounds.right) / 2
      && this.y === (this.bounds.top + this.bounds.bottom) / 2;
  }

  /** @param {number} width @param {number} height */
  resize(width, height) {
    const { zoom, isHome } = this;
    const first = !this.width;
    this.width = width;
    this.height = height;
    const { left, right, top, bottom } = this.bounds;
    const spans = [right - left || 1, bottom - top || 1];
    this.home = Math.min(Math.max(width - 2 * MARGIN, 40) / spans[0], Math.max(height - 2 * MARGIN, 40) / spans[1]);
    if (first || isHome) this.fit();
    else this.scale = this.home * zoom;
  }

  fit() {
    this.scale = this.home;
    this.x = (this.bounds.left + this.bounds.right) / 2;
    this.y = (this.bounds.top + this.bounds.bottom) / 2;
  }

  /** @param {number} factor @param {number} px @param {number} py the pixel that stays in place */
  zoomBy(factor, px = this.width / 2, py = this.height / 2) {
    const [x, y] = this.toWorld(px, py);
    this.scale = Math.min(Math.max(this.scale * factor, this.home * MIN_ZOOM), this.home * MAX_ZOOM);
    this.x = x - (px - this.width / 2) / this.scale;
    this.y = y - (py - this.height / 2) / this.scale;
    this.clamp();
  }

  /** @param {number} dx @param {number} dy */
  panBy(dx, dy) {
    this.x -= dx / this.scale;
    this.y -= dy / this.scale;
    this.clamp();
  }

  /** @param {number} x @param {number} y @param {number} [zoom] */
  moveTo(x, y, zoom = this.zoom) {
    this.scale = this.home * Math.min(Math.max(zoom, MIN_ZOOM), MAX_ZOOM);
    this.x = x;
    this.y = y;
    this.clamp();
  }

  // The center of the view stays inside the data.
  clamp() {
    this.x = Math.min(Math.max(this.x, this.bounds.left), this.bounds.right);
    this.y = Math.min(Math.max(this.y, this.bounds.top), this.bounds.bottom);
  }

  /** @param {number} x @param {number} y @returns {[number, number]} */
  toScreen(x, y) {
    return [(x - this.x) * this.scale + this.width / 2, (y - this.y) * this.scale + this.height / 2];
  }

  /** @param {number} px @param {number} py @returns {[number, number]} */
  toWorld(px, py) {
    return [this.x + (px - this.width / 2) / this.scale, this.y + (py - this.height / 2) / this.scale];
  }

  /** @param {number} margin pixels around the view @returns {Box} */
  box(margin = 0) {
    const [left, top] = this.toWorld(-margin, -margin);
    const [right, bottom] = this.toWorld(this.width + margin, this.height + margin);
    return { left, top, right, bottom };
  }

  /** @param {number} x @param {number} y @param {number} margin */
  shows(x, y, margin = 0) {
    const [px, py] = this.toScreen(x, y);
    return px >= margin && py >= margin && px <= this.width - margin && py <= this.height - margin;
  }
}
