// "Copy as Python" and "copy link".

import * as api from "./api.js";
import { h, say } from "./dom.js";

/** @typedef {import("./session.js").Session} Session */

/** Items in the list by code. */
export const N_HITS = 20;

/** @param {string} text */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // not allowed in this frame: the text is shown instead
  }
}

/** @param {HTMLElement} button @param {string} text */
function confirm(button, text) {
  const before = button.textContent;
  button.textContent = "Copied";
  say(`${text} copied`);
  setTimeout(() => { button.textContent = before; }, 1500);
}

/** Show text that could not be copied. @param {string} text */
function reveal(text) {
  const area = h("textarea", { rows: 12, readonly: true, spellcheck: "false", "aria-label": "Python code" });
  area.value = text;
  const dialog = h("dialog", { "aria-label": "Copy as Python" },
    h("form", { method: "dialog", class: "sheet" }, h("header", {}, h("h2", {}, "Python"), h("button", { class: "plain" }, "Close")), area));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  area.select();
}

/** @param {Session} session @param {string} view @param {() => Record<string, unknown>} [more] */
export function pythonButton(session, view, more = () => ({})) {
  const button = h("button", { type: "button", class: "plain" }, "Copy as Python");
  button.addEventListener("click", async () => {
    const { state } = session;
    try {
      const { code } = await api.python({ view, query: session.query, model: state.model, ...session.filter, rank: state.rank,
        coarse_weight: session.model.n_coarse_bits ? state.weight : null, radius: state.radius, ...more() });
      if (await copy(code)) confirm(button, "Python code");
      else reveal(code);
    } catch (error) {
      button.textContent = error instanceof api.Problem ? error.message : "Not available";
    }
  });
  return button;
}

/** @param {Session} session */
export function copyButtons(session) {
  const link = h("button", { type: "button", class: "plain", title: "The address reproduces this view" }, "Copy link");
  link.addEventListener("click", async () => {
    if (await copy(location.href)) confirm(link, "Address");
    else reveal(location.href);
  });
  return h("div", { class: "copy" }, pythonButton(session, "search", () => ({ k: N_HITS })), link);
}
