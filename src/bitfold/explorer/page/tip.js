// The box at the pointer that shows what is there.

import { row, thumbnail } from "./card.js";
import { at, counted, h, say } from "./dom.js";

/** @typedef {import("./session.js").Session} Session */
/** @typedef {import("./map/map.js").Place} Place */

let turn = 0;

export function hideTip() {
  turn++;
  at("tip").hidden = true;
}

/**
 * @param {Session} session
 * @param {number} model
 * @param {Place} place
 * @param {number} x
 * @param {number} y
 * @param {{ isSpoken: boolean, distance: number | null }} options
 */
export async function showTip(session, model, place, x, y, { isSpoken, distance }) {
  const mine = ++turn;
  const content = place.kind === "item" ? await itemContent(session, place.index) : baseContent(session, model, place.index);
  if (mine !== turn || !content) return;
  const away = distance === null ? null : `${counted(distance, "bit")} from the query`;
  at("tip").replaceChildren(...content.inside, ...(away ? [h("small", {}, away)] : []));
  at("tip").hidden = false;
  put(at("tip"), x, y);
  if (isSpoken) say([content.name, away].filter(Boolean).join(", "));
}

/** @param {Session} session @param {number} point */
async function itemContent(session, point) {
  try {
    const item = await session.item(point);
    const { about } = session;
    const label = item.label < 0 ? null : about.labels[item.label];
    return { inside: row({ ...item, image: null }, about).concat(thumbnail(item.image, "", "large")).filter((each) => each !== null).reverse(),
      name: [item.id, label, item.text].filter(Boolean).join(", ") };
  } catch {
    return null; // the tip is a convenience; clicking reports the error
  }
}

/** @param {Session} session @param {number} model @param {number} index */
function baseContent(session, model, index) {
  const image = session.about.uploads.draws_vectors ? `/api/models/${model}/base/${index}/image` : null;
  const name = `base point ${index}`;
  return { inside: [thumbnail(image, "", "large"), h("b", {}, name)].filter((each) => each !== null), name };
}

/** @param {HTMLElement} box @param {number} x @param {number} y */
function put(box, x, y) {
  const { width, height } = box.getBoundingClientRect();
  box.style.left = `${Math.max(8, Math.min(x + 18, innerWidth - width - 8))}px`;
  box.style.top = `${Math.max(8, y + 18 + height > innerHeight ? y - height - 14 : y + 18)}px`;
}
