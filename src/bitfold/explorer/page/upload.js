// Uploads: a file chosen, dropped or pasted, or numbers typed.

import * as api from "./api.js";
import { at } from "./dom.js";

export function listenForUploads(onTaken, complain) {
  const dialog = at("upload");
  const message = at("upload-message");

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
      at("file").value = "";
    }
  }

  at("open-upload").addEventListener("click", () => { message.hidden = true; dialog.showModal(); });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  at("file").addEventListener("change", (event) => { if (event.target.files[0]) send(event.target.files[0]); });
  at("send-numbers").addEventListener("click", () => send(at("numbers").value));
  // A file dropped anywhere on the page is an upload and must not replace the page.
  addEventListener("dragover", (event) => { event.preventDefault(); at("drop").classList.add("over"); });
  addEventListener("dragleave", () => at("drop").classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    at("drop").classList.remove("over");
    const [file] = event.dataTransfer.files;
    if (file) send(file);
  });
  addEventListener("paste", (event) => {
    const [file] = event.clipboardData?.files ?? [];
    if (file) send(file);
  });
}
