// How one item looks in lists: its image, its text or its columns, and its label.

import { imageAddress } from "./api.js";
import { labelColor } from "./colors.js";
import { h, short } from "./dom.js";

/** @typedef {import("./types.js").Item} Item */
/** @typedef {import("./types.js").About} About */
/** @typedef {import("./types.js").Value} Value */

const MAX_VALUES = 4; // columns in a list

/** @param {string | null} path @param {string} alt @param {string} kind */
export function thumbnail(path, alt, kind = "thumb") {
  if (!path) return null;
  const image = h("img", { class: kind, src: imageAddress(path), alt, loading: "lazy", decoding: "async" });
  // Small images are enlarged pixel by pixel, large ones smoothly.
  image.addEventListener("load", () => image.classList.toggle("pixels", image.naturalWidth < 64));
  image.addEventListener("error", () => image.replaceWith(h("span", { class: `${kind} none`, title: "The image could not be read." }, "?")));
  return image;
}

/** @param {number} label @param {About} about */
export function tag(label, about) {
  if (label < 0) return null;
  const dot = h("i", { class: "dot" });
  dot.style.background = labelColor(label, about.labels.length);
  return h("span", { class: "tag" }, dot, about.labels[label]);
}

/** @param {Value} value */
export function shown(value) {
  if (value === null) return "–";
  return typeof value === "number" ? short(value) : String(value);
}

/** The columns of an item. @param {Item} item @param {About} about @param {number} most */
export function values(item, about, most = MAX_VALUES) {
  const hidden = [about.text_column, about.image_column, about.label_column];
  const given = Object.entries(item.values ?? {}).filter(([name]) => !hidden.includes(name)).slice(0, most);
  if (!given.length) return null;
  return h("span", { class: "values" }, given.map(([name, value]) =>
    h("span", {}, h("span", { class: "column-name" }, name), " ", shown(value))));
}

/** @param {Item} item @param {About} about */
export const titleOf = (item, about) => (about.has_text && item.text ? item.text : `item ${item.id}`);

/** The inside of a row: image, name, label, text or columns. @param {Item} item @param {About} about @param {import("./dom.js").Child[]} extra */
export function row(item, about, ...extra) {
  const hasText = about.has_text && item.text;
  return [thumbnail(item.image, `item ${item.id}`),
    h("span", { class: "what" },
      hasText ? h("span", { class: "text main" }, item.text) : null,
      h("span", { class: "name" }, h(hasText ? "small" : "b", { class: "id" }, item.id), tag(item.label, about), extra),
      hasText && about.item_kind !== "row" ? null : values(item, about))];
}
