// Requests to the server. Every error is one sentence that can be shown.

/** @typedef {import("./types.js").Selection} Selection */
/** @typedef {{ where?: string, find?: string }} Filter */

export class Problem extends Error {
  /** @param {string} message @param {number} [status] */
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

// The token is in the cookie, too, but a notebook shows the page in a frame that has no cookies.
const token = new URLSearchParams(location.search).get("token");
const isFramed = window !== window.top;

/** @param {string} path @param {RequestInit} [options] */
async function request(path, options) {
  /** @type {Record<string, string>} */
  const authorization = token ? { Authorization: `Bearer ${token}` } : {};
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options, headers: { ...authorization, ...options?.headers } });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem("The explorer does not respond. Check that bitfold explore is still running, then reload this page.");
  }
  if (response.ok) return response;
  const answer = await response.json().catch(() => ({}));
  throw new Problem(answer.error ?? `The explorer responded with status ${response.status}.`, response.status);
}

/** @template T @param {string} path @param {RequestInit} [options] @returns {Promise<T>} */
const ask = async (path, options) => (await request(path, options)).json();

/** Omit what is not set. @param {string} path @param {Record<string, unknown>} [parameters] */
function address(path, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `/api/${path}${text ? `?${text}` : ""}`;
}

/** @param {string} path @param {(share: number) => void} [onProgress] @param {AbortSignal} [signal] */
async function bytes(path, onProgress, signal) {
  const response = await request(path, { signal });
  const total = Number(response.headers.get("Content-Length"));
  if (!onProgress || !response.body || !total) return response.arrayBuffer();
  const whole = new Uint8Array(total);
  let n = 0;
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    // A compressed response is longer than its Content-Length says.
    if (n + value.length > total) return (await request(path, { signal })).arrayBuffer();
    whole.set(value, n);
    n += value.length;
    onProgress(n / total);
  }
  return whole.buffer.slice(0, n);
}

/** @param {string} path @param {unknown} content @param {AbortSignal} [signal] */
const post = (path, content, signal) => request(path, {
  method: "POST", body: JSON.stringify(content), headers: { "Content-Type": "application/json" }, signal,
});

/** Return the address of an image as the page can load it. @param {string} path */
export const imageAddress = (path) => (token && isFramed ? `${path}?token=${encodeURIComponent(token)}` : path);

/** @returns {Promise<import("./types.js").About>} */
export const about = () => ask("/api/about");

/** @returns {Promise<{ ready: boolean, stage: string, done: number }>} */
export const progress = () => ask("/api/progress");

/** @returns {Promise<import("./types.js").Column[]>} */
export const columns = () => ask("/api/columns");

/** @param {Filter} filter @param {number} limit @param {number} [offset] @param {AbortSignal} [signal] @returns {Promise<import("./types.js").Found>} */
export const items = (filter, limit, offset, signal) =>
  ask(address("items", { ...filter, limit, offset, values: true }), { signal });

/** @param {number} point @returns {Promise<import("./types.js").Item>} */
export const item = (point) => ask(`/api/items/${point}`);

/** @param {Filter} filter @returns {Promise<import("./types.js").Item>} */
export const random = (filter) => ask(address("random", { ...filter }));

/** @param {Filter} filter @param {AbortSignal} [signal] */
export const matches = async (filter, signal) => new Uint8Array(await bytes(address("matches", { ...filter }), undefined, signal));

/** @param {number} model @returns {Promise<import("./types.js").MapInfo>} */
export const map = (model) => ask(`/api/models/${model}/map`);

/** @param {number} model @param {(share: number) => void} onProgress */
export const points = async (model, onProgress) => new Uint16Array(await bytes(`/api/models/${model}/points`, onProgress));

/** @param {number} model */
export const density = async (model) => new Float32Array(await bytes(`/api/models/${model}/density`));

/** @param {number} model @returns {Promise<import("./types.js").Region[]>} */
export const regions = (model) => ask(`/api/models/${model}/regions`);

/** @param {number} model @param {string} by @param {string} [query] @param {AbortSignal} [signal] @returns {Promise<import("./types.js").Legend>} */
export const legend = (model, by, query, signal) => ask(address(`models/${model}/legend`, { by, query }), { signal });

/** @param {number} model @param {string} by @param {string} [query] @param {AbortSignal} [signal] */
export const colors = async (model, by, query, signal) =>
  new Uint16Array(await bytes(address(`models/${model}/colors`, { by, query }), undefined, signal));

/**
 * @param {{ query: string, model: number, k?: number, per_group?: number, rank?: string, coarse_weight?: number | null,
 *   values?: boolean } & Filter} parameters
 * @param {AbortSignal} [signal]
 * @returns {Promise<import("./types.js").Answer>}
 */
export const search = (parameters, signal) => ask(address("search", parameters), { signal });

/**
 * @param {{ query: string, model: number, code: string, offset: number, limit: number, values?: boolean } & Filter} parameters
 * @returns {Promise<import("./types.js").BucketPage>}
 */
export const bucket = (parameters) => ask(address("bucket", parameters));

/**
 * @param {{ query: string, model: number, k: number, values?: boolean } & Filter} parameters
 * @param {AbortSignal} [signal]
 * @returns {Promise<import("./types.js").Exact>}
 */
export const exact = (parameters, signal) => ask(address("exact", parameters), { signal });

/** @param {string} query @param {number} model @param {AbortSignal} [signal] @returns {Promise<import("./types.js").RadiusCounts>} */
export const radiusCounts = (query, model, signal) => ask(address("radius-counts", { query, model }), { signal });

/** @param {number} model @returns {Promise<import("./types.js").Statistics>} */
export const statistics = (model) => ask(`/api/models/${model}/statistics`);

/** @returns {Promise<import("./types.js").Comparison>} */
export const compare = () => ask(address("compare", { first: 0, second: 1, limit: 24 }));

/**
 * @param {number} model
 * @param {{ radius?: number, offset?: number, limit?: number, per_group?: number, values?: boolean }} parameters
 * @param {AbortSignal} [signal]
 * @returns {Promise<import("./types.js").Duplicates>}
 */
export const duplicates = (model, parameters, signal) => ask(address(`models/${model}/duplicates`, parameters), { signal });

/**
 * @param {number} model @param {number} number @param {{ radius: number, offset: number, limit: number }} parameters
 * @returns {Promise<{ items: import("./types.js").Hit[] }>}
 */
export const duplicateGroup = (model, number, parameters) => ask(address(`models/${model}/duplicates/${number}`, parameters));

/** @param {number} model @param {{ radius: number, keep: string[], discard: string[], format: string }} choice */
export const exportDuplicates = async (model, choice) => (await post(`/api/models/${model}/duplicates/export`, choice)).blob();

/** @param {Selection} selection @param {AbortSignal} [signal] @returns {Promise<import("./types.js").SelectionSummary>} */
export const selection = async (selection, signal) => (await post("/api/selection", selection, signal)).json();

/** @param {Selection} selection @param {string} format */
export const exportSelection = async (selection, format) =>
  (await post(address("selection/export", { format }), selection)).blob();

/** @param {Record<string, unknown>} parameters @returns {Promise<{ code: string }>} */
export const python = (parameters) => ask(address("python", parameters));

/** @param {Blob | string} content @returns {Promise<{ key: string, n_features: number, image: string | null }>} */
export const upload = (content) => ask("/api/uploads", {
  method: "POST", body: content, headers: { "Content-Type": "application/octet-stream" },
});
