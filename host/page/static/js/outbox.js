// What was sent and is not yet in the stored conversation. Entries go out one after the other, in order, under one
// request id for ever (I2); they survive a reload, and a refused one stays until the person edits or discards it.

import { newRequestId } from "./rpc.js";
import { kept } from "./wire.js";

const KEY = "steward.outbox";

export class Outbox {
  #entries = kept.read(KEY, []);
  #sending = false;
  #listeners = new Set();

  constructor(connection) {
    this.connection = connection;
  }

  get entries() {
    return this.#entries;
  }

  // Kinds of events: `changed` for every view; `accepted` with the receipt as soon as one is read.
  on(listener) {
    this.#listeners.add(listener);
  }

  add(text, attachments) {
    this.#entries.push({ request_id: newRequestId(), text, attachments, state: "waiting" });
    this.#changed();
    this.pump();
  }

  remove(entry) {
    this.#entries = this.#entries.filter((other) => other !== entry);
    this.#changed();
    this.pump();
  }

  // Forgets entries that the stored conversation now shows.
  settle(lastSeq) {
    const open = this.#entries.filter((entry) => !(entry.message_seq && entry.message_seq <= lastSeq));
    if (open.length === this.#entries.length) return;
    this.#entries = open;
    this.#changed();
  }

  async pump() {
    const session = this.connection.session?.main_session_id;
    const entry = this.#entries.find((candidate) => candidate.state === "waiting");
    if (this.#sending || !session || !entry) return;
    this.#sending = true;
    try {
      const answer = await this.connection.call(
        "agents.send",
        { session_id: session },
        { requestId: entry.request_id, userInput: { text: entry.text, attachment_ids: entry.attachments.map((file) => file.attachment_id) } },
      );
      this.#read(entry, answer.receipt);
    } catch (error) {
      Object.assign(entry, { state: "failed", code: error.code, message: error.message });
      this.#changed();
    } finally {
      this.#sending = false;
      this.pump();
    }
  }

  #read(entry, receipt) {
    if (receipt.state === "refused") {
      const error = receipt.error ?? {};
      Object.assign(entry, { state: "failed", code: error.code, message: error.message ?? "" });
      this.#changed();
      return;
    }
    Object.assign(entry, { state: "sent", message_seq: receipt.message_seq, turn_id: receipt.turn_id });
    this.#changed(receipt);
  }

  #changed(receipt) {
    kept.write(KEY, this.#entries.filter((entry) => entry.state !== "sent"));
    for (const listener of this.#listeners) listener(receipt);
  }
}
