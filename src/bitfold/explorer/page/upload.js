// Uploads: a file chosen, dropped or pasted, or numbers typed.

import * as api from "./api.js";
import { at, inputAt } from "./dom.js";

/** @typedef {import("./types.js").About} About */

/** What can be uploaded. @param {About} about */
function hint({ uploads, models }) {
  const sizes = [...new Set(models.map(({ n_features: n }) => n))].join(" or ");
  const vector = `a vector of ${sizes} numbers as .npy or text`;
  const limit = `up to ${uploads.max_bytes >> 20} MiB`;
  return uploads.image_features ? `An image (its ${uploads.image_features} are the vector) or ${vector}, ${limit}.` : `${vector.charAt(0).toUpperCase()}${vector.slice(1)}, ${limit}.`;
}

/**
 * @param {About} about
 * @param {(key: string) => void} onTaken
 * @param {(error: unknown, element: HTMLElement) => void} complain
 */
export function listenForUploads(about, onTaken, complain) {
  const dialog = /** @type {HTMLDialogElement} */ (at("upload"));
  const message = at("upload-message");
  const file = inputAt("file");
  at("upload-hint").textContent = hint(about);
  if (!about.uploads.image_features) file.accept = ".npy,.txt,.csv,.json";

  /** @param {Blob | string} content */
  async function send(content) {
    message.hidden = true;
    dialog.dataset.busy = "true";
    try {
      const taken = await api.upload(content);
      dialog.close();
      onTaken(taken.key);
    } catch (error) {
      if (!dialog.open) dialog.showModal();
      complain(error, message);
    } finally {
      dialog.dataset.busy = "false";
      file.value = "";
    }
  }

  /** @param {FileList | undefined | null} files */
  const sendFirst = (files) => { if (files?.[0]) send(files[0]); };
  at("open-upload").addEventListener("click", () => { message.hidden = true; dialog.showModal(); });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  file.addEventListener("change", () => sendFirst(file.files));
  at("send-numbers").addEventListener("click", () => send(inputAt("numbers").value));
  // A file dropped anywhere on the page is an upload and must not replace the page.
  addEventListener("dragover", (event) => { event.preventDefault(); at("drop").classList.add("over"); });
  addEventListener("dragleave", () => at("drop").classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    at("drop").classList.remove("over");
    sendFirst(event.dataTransfer?.files);
  });
  addEventListener("paste", (event) => sendFirst(event.clipboardData?.files));
}
