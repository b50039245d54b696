// A section of the settings that shows what the host holds: read when it is opened and on notice, built anew when that
// changed, with the small forms and the focus kept.

import { Actions } from "./actions.js";
import { el } from "./dom.js";
import { focusMemory } from "./focus.js";
import { failureWords, t } from "./i18n.js";

export class Section {
  root = el("div", { class: "settings-section" });
  #visible = false;
  #error = null;
  #read = false;
  #shape = "";

  // `key` names its words; `read()` reads what it shows, `shape()` tells two states of that apart, `build(actions)`
  // makes its elements.
  constructor(connection, { key, read, shape, build }) {
    Object.assign(this, { connection, key, read, shape, build });
    this.actions = new Actions(connection, { redraw: () => this.#draw(), reread: () => this.refresh() });
  }

  show(visible) {
    const opens = visible && !this.#visible;
    this.#visible = visible;
    if (!visible) return;
    if (opens) {
      this.actions.forget();
      this.refresh();
    }
    this.#draw();
  }

  // Reads again if it is open.
  async refresh() {
    if (!this.#visible || !this.connection.session) return;
    try {
      await this.read();
      this.#error = null;
      this.#read = true;
    } catch (error) {
      this.#error = error;
    }
    this.changed();
  }

  // Shows what is known now, if it is open and that is something else than before.
  changed() {
    if (this.#visible && this.#state() !== this.#shape) this.#draw();
  }

  redraw() {
    if (this.#visible) this.#draw();
  }

  #state = () => JSON.stringify([this.#error?.code, this.#read, this.shape()]);

  #draw() {
    this.#shape = this.#state();
    const restoreFocus = focusMemory(this.root);
    const openParts = [...this.root.querySelectorAll("details[open]")].map((part) => part.dataset.part);
    const heading = el("h3", { tabindex: "-1" }, t(`settings.${this.key}`));
    const note = el("p", { class: "quiet" }, t(`settings.${this.key}_note`));
    const body = this.#error && !this.#read ? el("p", { class: "quiet", role: "alert" }, failureWords(this.#error)) : this.#read && this.build(this.actions);
    this.root.replaceChildren(...[heading, note, body].flat().filter(Boolean));
    for (const part of this.root.querySelectorAll("details")) part.open ||= openParts.includes(part.dataset.part);
    restoreFocus({ wanted: this.actions.takeFocus(), fallback: heading });
  }
}
