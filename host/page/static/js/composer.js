// Where a person writes. What is not sent survives a reload; Enter never sends while an input method is composing.

import { el, reconcile } from "./dom.js";
import { bytes, errorWords, number, onLanguage, t } from "./i18n.js";
import { icon } from "./icons.js";
import { brokenLimit, upload } from "./uploads.js";
import { kept, utf8Length } from "./wire.js";

const KEY = "steward.draft";
const IME_KEYCODE = 229;
const DEFAULT_LIMITS = { text_bytes: 64_000, attachments: 16, attachment_bytes: 20 * 1024 * 1024 };
const byId = (id) => document.getElementById(id);

export class Composer {
  #files = [];
  #lastKey = 0;
  #error = null;
  // Whether what is here is sent by itself once its files are uploaded; whoever changes it meanwhile sends it anew.
  #waiting = false;

  constructor({ connection, outbox }) {
    Object.assign(this, { connection, outbox, field: byId("composer-text") });
    const draft = kept.read(KEY, { text: "", files: [] });
    this.field.value = draft.text;
    for (const result of draft.files) this.#files.push({ key: ++this.#lastKey, name: result.name, size: result.size, state: "done", result });
    this.#listen();
    onLanguage(() => this.#show());
    this.#show();
    // A touch screen would cover half the page with its keyboard.
    if (matchMedia("(pointer: fine)").matches) this.field.focus({ preventScroll: true });
  }

  // Puts a suggestion into the field for the person to send or change.
  suggest(text) {
    this.field.value = text;
    this.#changed();
    this.field.focus();
  }

  // Takes a refused message back into the field, in front of what is there.
  edit({ text, attachments }) {
    this.field.value = [text, this.field.value].filter(Boolean).join("\n");
    for (const result of attachments) this.#files.push({ key: ++this.#lastKey, name: result.name, size: result.size, state: "done", result });
    this.#changed();
    this.field.focus();
  }

  #listen() {
    const form = byId("composer");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    this.field.addEventListener("input", () => {
      this.#waiting = false;
      this.#changed();
    });
    this.field.addEventListener("keydown", (event) => {
      const composing = event.isComposing || event.keyCode === IME_KEYCODE;
      if (event.key !== "Enter" || event.shiftKey || composing) return;
      event.preventDefault();
      this.#send();
    });
    this.field.addEventListener("paste", (event) => {
      const { files } = event.clipboardData;
      if (!files.length) return;
      event.preventDefault();
      this.attach([...files]);
    });
    const picker = byId("composer-picker");
    byId("composer-attach").addEventListener("click", () => picker.click());
    picker.addEventListener("change", () => {
      this.attach([...picker.files]);
      picker.value = "";
    });
    this.#listenForDrops(byId("conversation"), byId("drop-veil"));
  }

  #listenForDrops(area, veil) {
    const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
    area.addEventListener("dragover", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      veil.hidden = false;
    });
    area.addEventListener("dragleave", (event) => {
      if (!area.contains(event.relatedTarget)) veil.hidden = true;
    });
    area.addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      veil.hidden = true;
      this.attach([...event.dataTransfer.files]);
    });
  }

  get #limits() {
    return this.connection.session?.limits ?? DEFAULT_LIMITS;
  }

  // Adds files that keep within the limits and starts their upload; otherwise says which limit and adds none.
  attach(files) {
    const broken = brokenLimit([...this.#files, ...files], this.#limits);
    if (broken) {
      const words = broken.key === "composer.too_large" ? bytes : number;
      this.#fail({ key: broken.key, params: { limit: words(broken.limit), value: words(broken.value) } });
      return;
    }
    this.#error = null;
    this.#waiting = false;
    for (const file of files) {
      const entry = { key: ++this.#lastKey, name: file.name, size: file.size, file };
      this.#files.push(entry);
      this.#upload(entry);
    }
    this.field.focus();
  }

  async #upload(entry) {
    const { done, cancel } = upload(entry.file, (share) => {
      const percent = Math.floor(share * 100);
      byId("composer-files").querySelector(`[data-key="${entry.key}"] progress`)?.setAttribute("value", percent);
    });
    Object.assign(entry, { state: "uploading", cancel, error: null });
    this.#changed();
    try {
      entry.result = await done;
      entry.state = "done";
    } catch (error) {
      Object.assign(entry, { state: "failed", error });
    }
    this.#changed();
    if (this.#waiting && !this.#isUploading) this.#send();
  }

  get #isUploading() {
    return this.#files.some((entry) => entry.state === "uploading");
  }

  #remove(entry) {
    this.#files = this.#files.filter((other) => other !== entry);
    if (entry.state === "uploading") entry.cancel();
    this.#error = null;
    this.#waiting = false;
    this.#changed();
    this.field.focus();
  }

  #send() {
    const text = this.field.value.trim() ? this.field.value : "";
    this.#waiting = false;
    if (!text && this.#files.length === 0) return;
    const value = utf8Length(text);
    const limit = this.#limits.text_bytes;
    if (value > limit) this.#fail({ key: "composer.too_long", params: { value: number(value), limit: number(limit) } });
    else if (this.#files.some((entry) => entry.state === "failed")) this.#fail({ key: "composer.failed_files" });
    else if (this.#isUploading) {
      this.#error = null;
      this.#waiting = true;
      this.#show();
    } else {
      this.outbox.add(text, this.#files.map((entry) => entry.result));
      this.field.value = "";
      this.#files = [];
      this.#error = null;
      this.#changed();
    }
  }

  #fail(error) {
    this.#error = error;
    this.#show();
  }

  #changed() {
    if (this.#error?.key !== "composer.too_many" && this.#error?.key !== "composer.too_large") this.#error = null;
    const files = this.#files.filter((entry) => entry.state === "done").map((entry) => entry.result);
    kept.write(KEY, { text: this.field.value, files });
    this.#show();
  }

  #show() {
    // The field grows with its text; the style sheet bounds it.
    this.field.style.height = "auto";
    this.field.style.height = `${this.field.scrollHeight}px`;
    byId("composer-send").disabled = !this.field.value.trim() && this.#files.length === 0;
    const error = byId("composer-error");
    const told = this.#error ?? (this.#waiting ? { key: "composer.sends_when_uploaded" } : null);
    error.hidden = !told;
    error.textContent = told ? t(told.key, told.params) : "";
    const list = byId("composer-files");
    list.hidden = this.#files.length === 0;
    const shown = this.#files.map(({ key, name, size, state, error: why }) => ({ key: String(key), name, size, state, why: why ? errorWords(why) : null }));
    reconcile(list, shown, (entry) => entry.key, (entry) => this.#chip(entry));
  }

  #chip({ key, name, size, state, why }) {
    const entry = this.#files.find((candidate) => String(candidate.key) === key);
    const button = (label, glyph, act) =>
      el("button", { type: "button", class: "icon-button small", "aria-label": t(label, { name }), title: t(label, { name }), on: { click: act } }, icon(glyph));
    return el(
      "li",
      { class: `chip ${state}` },
      icon("file"),
      el("span", { class: "chip-name", title: name }, name),
      el("span", { class: "chip-size" }, why ?? bytes(size)),
      state === "uploading" && el("progress", { max: 100, value: 0, "aria-label": name }),
      state === "failed" && button("composer.upload_again", "retry", () => this.#upload(entry)),
      button("composer.remove", "close", () => this.#remove(entry)),
    );
  }
}
