// What all views share: what the server has, where the user is, and data loaded once.

import * as api from "./api.js";
import { filterOf, format, parse } from "./address.js";
import { contours } from "./map/contours.js";

/** @typedef {import("./address.js").State} State */
/** @typedef {import("./types.js").About} About */

/**
 * A map as it arrives, in world coordinates: x to the right, y downwards, both between 0 and 1.
 * @typedef {{ positions: Float32Array, base: Float32Array, explanation: string }} MapData
 */

export class Session {
  /** @param {About} about @param {() => void} onMove */
  constructor(about, onMove) {
    this.about = about;
    this.onMove = onMove;
    this.state = parse(location.hash, about.models.length);
    this.address = location.hash;
    /** @type {Map<string, Promise<any>>} */
    this.loaded = new Map();
    this.onProgress = (/** @type {string} */ _stage, /** @type {number} */ _share) => {};
  }

  get model() {
    return this.about.models[this.state.model];
  }

  /** The key of the query. */
  get query() {
    return this.state.query || `item:${this.about.first}`;
  }

  get filter() {
    return filterOf(this.state);
  }

  /** Read the address again. */
  read() {
    this.state = parse(location.hash, this.about.models.length);
    this.address = location.hash;
  }

  /** Change the state and show it. @param {Partial<State>} change */
  go(change) {
    const address = format({ ...this.state, ...change });
    if (address === location.hash) this.onMove();
    else location.hash = address;
  }

  /** Note a change that is already visible in the address. @param {Partial<State>} change */
  note(change) {
    // The address is ahead of the page while a move is waiting to be shown; it must not be replaced.
    if (location.hash !== this.address) return;
    Object.assign(this.state, change);
    history.replaceState(history.state, "", location.pathname + location.search + format(this.state));
    this.address = location.hash;
  }

  /** Load something once; try again after an error. @template T @param {string} name @param {() => Promise<T>} load @returns {Promise<T>} */
  once(name, load) {
    if (!this.loaded.has(name)) {
      const promise = load();
      promise.catch(() => this.loaded.delete(name));
      this.loaded.set(name, promise);
    }
    return /** @type {Promise<T>} */ (this.loaded.get(name));
  }

  columns() {
    return this.once("columns", api.columns);
  }

  /** @param {number} model */
  map(model) {
    return this.once(`map ${model}`, async () => {
      const name = this.about.models[model].name;
      const [known, raw] = await Promise.all([api.map(model), api.points(model, (share) => this.onProgress(`Loading the map of ${name}`, share))]);
      return { positions: fromBinary(raw), base: fromLists(known.base), explanation: known.explanation };
    });
  }

  /** @param {number} model */
  regions(model) {
    return this.once(`regions ${model}`, async () => (await api.regions(model)).map((region) => ({ ...region, y: 1 - region.y })));
  }

  /** @param {number} model */
  contours(model) {
    return this.once(`contours ${model}`, async () => {
      const [density, { positions }] = await Promise.all([api.density(model), this.map(model)]);
      return contours(density, positions);
    });
  }

  /** @param {number} point */
  item(point) {
    return this.once(`item ${point}`, () => api.item(point));
  }
}

/** @param {Uint16Array} raw */
function fromBinary(raw) {
  const positions = new Float32Array(raw.length);
  for (let i = 0; i < raw.length; i += 2) {
    positions[i] = raw[i] / 65535;
    positions[i + 1] = 1 - raw[i + 1] / 65535;
  }
  return positions;
}

/** @param {import("./types.js").BasePoints} base */
const fromLists = ({ x, y }) => Float32Array.from(x.flatMap((value, i) => [value, 1 - y[i]]));
