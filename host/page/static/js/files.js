// Reads stored files in slices, checks their digest, and only then shows or saves them (C10).

import { el } from "./dom.js";
import { bytes, errorWords, t } from "./i18n.js";
import { icon } from "./icons.js";

const PREVIEW_IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"]);
const PREVIEW_IMAGE_BYTES = 8 * 1024 * 1024;
const PREVIEW_TEXT_BYTES = 256 * 1024;
const DEFAULT_SLICE = 512 * 1024;

const isText = (mediaType) => mediaType.startsWith("text/") || mediaType === "application/json";

export class StoredFiles {
  #verified = new Map();

  constructor(connection) {
    this.connection = connection;
  }

  // `source`: {method, params, file: {name, media_type, size, sha256}}. Resolves to a Blob whose digest was checked.
  read(source) {
    const key = source.file.sha256;
    if (!this.#verified.has(key)) {
      const reading = this.#download(source);
      this.#verified.set(key, reading);
      reading.catch(() => this.#verified.delete(key));
    }
    return this.#verified.get(key);
  }

  async #download({ method, params, file }) {
    if (!crypto.subtle) throw new Error(t("file.unverifiable"));
    const length = this.connection.session?.limits?.slice_base64 ?? DEFAULT_SLICE;
    const parts = [];
    let offset = 0;
    let total = 1;
    while (offset < total) {
      const slice = await this.connection.call(method, { ...params, offset, length });
      total = slice.total_base64_length;
      if (!slice.data.length && offset < total) throw new Error(t("file.failed"));
      parts.push(slice.data);
      offset += slice.data.length;
    }
    const content = Uint8Array.from(atob(parts.join("")), (character) => character.charCodeAt(0));
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
    const hex = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    if (hex !== file.sha256) throw new Error(t("file.damaged"));
    return new Blob([content]);
  }
}

export const attachmentSource = (sessionId, seq, file) => ({
  method: "host.session.attachment.read",
  params: { session_id: sessionId, message_seq: seq, attachment_id: file.attachment_id },
  file,
});

export const artifactSource = (taskId, file) => ({
  method: "agents.tasks.artifact.read",
  params: { task_id: taskId, artifact_id: file.artifact_id },
  file,
});

// A file as a chip: image preview by itself, text preview on demand, saving by button.
export function fileChip(reader, source) {
  const { file } = source;
  const note = el("span", { class: "file-note", role: "status" });
  const body = el("div", { class: "file-body" });
  const row = el(
    "div",
    { class: "file-row" },
    el("span", { class: "file-icon" }, icon("file")),
    el("span", { class: "file-name", title: file.name }, file.name),
    el("span", { class: "file-size" }, bytes(file.size)),
  );
  const attempt = async (show) => {
    note.textContent = "";
    try {
      await show(await reader.read(source));
    } catch (error) {
      note.textContent = error.code ? errorWords(error) : error.message;
    }
  };
  if (isText(file.media_type) && file.size <= PREVIEW_TEXT_BYTES) row.append(textToggle(body, attempt));
  row.append(
    el(
      "button",
      { type: "button", class: "icon-button small", "aria-label": t("file.save", { name: file.name }), title: t("file.save", { name: file.name }), on: { click: () => attempt((blob) => save(blob, file.name)) } },
      icon("save"),
    ),
  );
  const chip = el("div", { class: "file" }, row, body, note);
  if (PREVIEW_IMAGES.has(file.media_type) && file.size <= PREVIEW_IMAGE_BYTES) {
    whenVisible(chip, () => attempt((blob) => showImage(body, blob, file)));
  }
  return chip;
}

function textToggle(body, attempt) {
  const button = el("button", { type: "button", class: "text-button", "aria-expanded": "false" }, t("file.show"));
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    button.textContent = t(open ? "file.show" : "file.hide");
    if (open) body.replaceChildren();
    else attempt(async (blob) => body.replaceChildren(el("pre", { class: "file-text", tabindex: "0" }, await blob.text())));
  });
  return button;
}

function showImage(body, blob, file) {
  const typed = blob.slice(0, blob.size, file.media_type);
  const image = el("img", { class: "file-image", alt: file.name });
  image.addEventListener("load", () => URL.revokeObjectURL(image.src), { once: true });
  image.src = URL.createObjectURL(typed);
  body.replaceChildren(image);
}

function save(blob, name) {
  // The type is left out on purpose: a saved file is never rendered under this origin.
  const address = URL.createObjectURL(blob.slice(0, blob.size, "application/octet-stream"));
  const link = el("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function whenVisible(node, act) {
  const watch = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watch.disconnect();
    act();
  });
  watch.observe(node);
}
