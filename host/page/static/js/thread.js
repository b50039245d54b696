// The stored messages on screen: kept in order of sequence, extended at both ends, each shown once whatever arrives
// twice. Reading the next page and catching up after a gap are the same read with another bound (H13).

import { dayKey } from "./clock.js";

const PAGE = 50;

export class Thread {
  #messages = new Map();
  #order = [];
  #nodes = new Map();
  #catching = null;
  #again = false;

  // `view` makes an element from a message; `onAdded(messages, first)` runs after they are in place.
  constructor({ connection, list, view, onAdded }) {
    Object.assign(this, { connection, list, view, onAdded, hasEarlier: false, loaded: false });
  }

  get lastSeq() {
    return this.#order.at(-1) ?? 0;
  }

  get firstSeq() {
    return this.#order[0] ?? 0;
  }

  get isEmpty() {
    return this.#order.length === 0;
  }

  has = (seq) => this.#nodes.has(seq);
  node = (seq) => this.#nodes.get(seq);
  message = (seq) => this.#messages.get(seq);
  messages = () => this.#order.map((seq) => this.#messages.get(seq));
  hasReplyOf = (turnId) => this.messages().some((message) => message.role === "assistant" && message.turn_id === turnId);

  // Reads everything after the last message shown; calls while one is running are answered by one more read.
  catchUp() {
    if (this.#catching) {
      this.#again = true;
      return this.#catching;
    }
    this.#catching = this.#readOn().finally(() => (this.#catching = null));
    return this.#catching;
  }

  async #readOn() {
    do {
      this.#again = false;
      const first = !this.loaded;
      const fromNewest = first || this.isEmpty;
      const page = await this.#read(fromNewest ? {} : { after_seq: this.lastSeq });
      if (fromNewest) this.hasEarlier = page.has_more;
      else if (page.has_more) this.#again = true;
      this.loaded = true;
      this.#add(page.items, first);
    } while (this.#again);
  }

  async earlier() {
    const page = await this.#read({ before_seq: this.firstSeq });
    this.hasEarlier = page.has_more;
    this.#add(page.items, false);
  }

  #read(bounds) {
    const session = this.connection.session.main_session_id;
    return this.connection.call("agents.history", { session_id: session, limit: PAGE, ...bounds });
  }

  // Builds every element anew, in another language for example.
  redraw() {
    const messages = this.messages();
    this.#order = [];
    this.#nodes.clear();
    this.list.replaceChildren();
    this.#insert(messages);
  }

  #add(items, first) {
    const fresh = items.filter((message) => !this.#messages.has(message.seq));
    for (const message of fresh) this.#messages.set(message.seq, message);
    this.#insert(fresh);
    this.onAdded(fresh, first);
  }

  #insert(messages) {
    for (const message of messages) {
      const after = this.#order.findIndex((seq) => seq > message.seq);
      const at = after < 0 ? this.#order.length : after;
      const node = this.view(message);
      this.list.insertBefore(node, this.#nodes.get(this.#order[at]) ?? null);
      this.#order.splice(at, 0, message.seq);
      this.#nodes.set(message.seq, node);
      this.#separate(at);
      this.#separate(at + 1);
    }
  }

  // A message carries its own day line; it shows where the day differs from the message before.
  #separate(at) {
    const message = this.#messages.get(this.#order[at]);
    if (!message?.time) return;
    const before = this.#messages.get(this.#order[at - 1]);
    const sameDay = before?.time && dayKey(before.time) === dayKey(message.time);
    this.#nodes.get(message.seq).querySelector(".day").hidden = Boolean(sameDay);
  }
}
