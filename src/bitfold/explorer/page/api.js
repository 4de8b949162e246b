// Requests to the server. Every error is one sentence that can be shown.

export class Problem extends Error {}

async function ask(address, options) {
  let response;
  try {
    response = await fetch(address, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("No response from the explorer. Is bitfold explore still running?");
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Problem(answer.error ?? `The explorer responded with status ${response.status}.`);
  return answer;
}

const address = (path, parameters) => `/api/${path}?${new URLSearchParams(parameters)}`;

export const about = () => ask("/api/about");
export const item = (id) => ask(`/api/items/${id}`);
export const map = (model) => ask(`/api/models/${model}/map`);
export const statistics = (model) => ask(`/api/models/${model}/statistics`);
export const search = (query, model, signal) => ask(address("search", { query, model }), { signal });
export const exact = (query, model, signal) => ask(address("exact", { query, model }), { signal });
export const radiusCounts = (query, model, signal) => ask(address("radius-counts", { query, model }), { signal });
export const upload = (content) => ask("/api/uploads", {
  method: "POST", body: content, headers: { "Content-Type": "application/octet-stream" },
});
