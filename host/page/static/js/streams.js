// Replies being written, as plain text that grows in a live region (C4). One text node per reply: adding to it costs
// nothing that grows with the reply, and a screen reader hears only what was added.

import { el } from "./dom.js";
import { t } from "./i18n.js";

export class Streams {
  #replies = new Map();

  constructor(container) {
    this.container = container;
  }

  append(turnId, text) {
    const reply = this.#reply(turnId);
    reply.text.appendData(text);
    reply.words.textContent = "";
  }

  clear(turnId) {
    if (this.#replies.has(turnId)) this.#reply(turnId).text.data = "";
  }

  // Shows a reply that runs; `waits`: for a decision of the person.
  mark(turnId, waits) {
    const { node, text, words } = this.#reply(turnId);
    const key = waits ? "turn.waiting" : text.length ? null : "turn.thinking";
    words.textContent = key ? t(key) : "";
    node.classList.toggle("waiting", waits);
  }

  remove(turnId) {
    this.#replies.get(turnId)?.node.remove();
    this.#replies.delete(turnId);
  }

  removeWhere(matches) {
    for (const turnId of [...this.#replies.keys()]) if (matches(turnId)) this.remove(turnId);
  }

  redraw() {
    for (const { node } of this.#replies.values()) node.querySelector(".message-author").textContent = t("author.assistant");
  }

  #reply(turnId) {
    if (this.#replies.has(turnId)) return this.#replies.get(turnId);
    const text = document.createTextNode("");
    const words = el("span", { class: "stream-status" });
    const node = el(
      "div",
      { class: "message from-assistant streaming", data: { turn: turnId } },
      el("div", { class: "message-head" }, el("span", { class: "message-author" }, t("author.assistant")), words),
      el("div", { class: "bubble stream-text", "aria-live": "polite", "aria-atomic": "false" }, text),
    );
    this.container.append(node);
    this.#replies.set(turnId, { node, text, words });
    return this.#replies.get(turnId);
  }
}
