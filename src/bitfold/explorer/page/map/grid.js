// Points sorted into square cells, to find those in a view or near the pointer.
//
// Cells of one row are neighbors in the list, so the points of a view are one span per row.

/** @typedef {import("./camera.js").Box} Box */

const POINTS_PER_CELL = 16;
const MAX_SIDE = 256;

export class Grid {
  /** @param {Float32Array} positions x and y of each point */
  constructor(positions) {
    this.positions = positions;
    this.n = positions.length / 2;
    this.bounds = boundsOf(positions);
    this.side = Math.max(1, Math.min(MAX_SIDE, Math.ceil(Math.sqrt(this.n / POINTS_PER_CELL))));
    const { left, right, top, bottom } = this.bounds;
    this.cellWidth = (right - left) / this.side || 1;
    this.cellHeight = (bottom - top) / this.side || 1;
    this.starts = new Uint32Array(this.side * this.side + 1);
    this.order = new Uint32Array(this.n);
    this.sort();
  }

  sort() {
    const { n, positions, starts, order } = this;
    const cells = new Uint32Array(n);
    for (let i = 0; i < n; i++) {
      cells[i] = this.row(positions[2 * i + 1]) * this.side + this.column(positions[2 * i]);
      starts[cells[i] + 1]++;
    }
    for (let c = 0; c < this.side * this.side; c++) starts[c + 1] += starts[c];
    const next = starts.slice();
    for (let i = 0; i < n; i++) order[next[cells[i]]++] = i;
  }

  /** @param {number} x */
  column(x) {
    return Math.min(Math.max(Math.floor((x - this.bounds.left) / this.cellWidth), 0), this.side - 1);
  }

  /** @param {number} y */
  row(y) {
    return Math.min(Math.max(Math.floor((y - this.bounds.top) / this.cellHeight), 0), this.side - 1);
  }

  /** Count the points of the cells that touch a box. @param {Box} box */
  count(box) {
    return this.spans(box).reduce((sum, [first, end]) => sum + end - first, 0);
  }

  /** @param {Box} box */
  touches({ left, top, right, bottom }) {
    const { bounds } = this;
    return right >= bounds.left && left <= bounds.right && bottom >= bounds.top && top <= bounds.bottom;
  }

  /** The parts of order with the points of the cells that touch a box. @param {Box} box @returns {[number, number][]} */
  spans(box) {
    if (!this.touches(box)) return [];
    const [first, last] = [this.column(box.left), this.column(box.right)];
    const rows = Array.from({ length: this.row(box.bottom) - this.row(box.top) + 1 }, (_, i) => this.row(box.top) + i);
    return rows.map((row) => [this.starts[row * this.side + first], this.starts[row * this.side + last + 1]]);
  }

  /** Write the points of the cells that touch a box to out; return how many. @param {Box} box @param {Uint32Array} out */
  gather(box, out) {
    let n = 0;
    for (const [first, end] of this.spans(box)) {
      const part = this.order.subarray(first, Math.min(end, first + out.length - n));
      out.set(part, n);
      n += part.length;
    }
    return n;
  }

  /**
   * Return the point nearest to a place, or -1.
   * @param {number} x
   * @param {number} y
   * @param {number} reach the largest distance
   * @param {(i: number) => boolean} accepts
   */
  nearest(x, y, reach, accepts) {
    const { starts, order, positions, side } = this;
    let best = -1;
    let least = reach * reach;
    for (let row = this.row(y - reach); row <= this.row(y + reach); row++) {
      for (let column = this.column(x - reach); column <= this.column(x + reach); column++) {
        const cell = row * side + column;
        for (let j = starts[cell]; j < starts[cell + 1]; j++) {
          const i = order[j];
          const d = (positions[2 * i] - x) ** 2 + (positions[2 * i + 1] - y) ** 2;
          if (d < least && accepts(i)) [best, least] = [i, d];
        }
      }
    }
    return best;
  }
}

/** The smallest box around some points. @param {...Float32Array} parts x and y of points @returns {Box} */
export function boundsOf(...parts) {
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (const positions of parts) {
    for (let i = 0; i < positions.length; i += 2) {
      if (positions[i] < box.left) box.left = positions[i];
      if (positions[i] > box.right) box.right = positions[i];
      if (positions[i + 1] < box.top) box.top = positions[i + 1];
      if (positions[i + 1] > box.bottom) box.bottom = positions[i + 1];
    }
  }
  return box.left <= box.right ? box : { left: 0, top: 0, right: 1, bottom: 1 };
}
