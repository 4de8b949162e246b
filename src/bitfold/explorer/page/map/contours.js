// Lines of equal density that enclose given shares of the items.

const SIDE = 256; // cells per side of the density that the server sends

/** Shares of the items inside the contour lines. */
export const SHARES = [0.25, 0.5, 0.75, 0.95];

/**
 * Return line segments (x1, y1, x2, y2) per share of SHARES, in world coordinates.
 * @param {Float32Array} density row by row; row 0 is the bottom of the map
 * @param {Float32Array} positions of the points
 */
export function contours(density, positions) {
  // The first points are a fair sample, because points come in random order.
  const n = Math.min(positions.length / 2, 50_000);
  const sorted = new Float32Array(n);
  for (let i = 0; i < n; i++) sorted[i] = density[cellAt(positions[2 * i], 1 - positions[2 * i + 1])];
  sorted.sort();
  return SHARES.map((share) => lineAt(density, sorted[Math.floor((1 - share) * (n - 1))]));
}

/** @param {number} x @param {number} y upwards */
function cellAt(x, y) {
  const [column, row] = [x, y].map((value) => Math.min(Math.floor(value * SIDE), SIDE - 1));
  return row * SIDE + column;
}

// Marching squares between the centers of the cells.
/** @param {Float32Array} density @param {number} level */
function lineAt(density, level) {
  /** @type {number[]} */
  const segments = [];
  for (let row = 0; row < SIDE - 1; row++) {
    for (let column = 0; column < SIDE - 1; column++) {
      const cell = row * SIDE + column;
      const values = [density[cell], density[cell + 1], density[cell + SIDE + 1], density[cell + SIDE]];
      const above = values.filter((value) => value >= level).length;
      if (above > 0 && above < 4) segments.push(...crossings(row, column, values, level));
    }
  }
  return Float32Array.from(segments);
}

const CORNERS = [[0, 0], [0, 1], [1, 1], [1, 0]];

/** @param {number} row @param {number} column @param {number[]} values @param {number} level */
function crossings(row, column, values, level) {
  /** @type {number[]} */
  const ends = [];
  for (let k = 0; k < 4; k++) {
    const [a, b] = [values[k] - level, values[(k + 1) % 4] - level];
    if (a >= 0 === b >= 0) continue;
    const t = a / (a - b);
    const [from, to] = [CORNERS[k], CORNERS[(k + 1) % 4]];
    ends.push((column + from[1] + t * (to[1] - from[1]) + 0.5) / SIDE, 1 - (row + from[0] + t * (to[0] - from[0]) + 0.5) / SIDE);
  }
  return ends;
}
