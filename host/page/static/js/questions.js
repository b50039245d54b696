// The questions of tasks that this page knows, by id, and the answers that were begun. Every view of a question reads
// from here, so that an answer given in one place closes it in all (T7, T9).

import { newRequestId } from "./rpc.js";
import { listOf } from "./wire.js";

const QUIET_MS = 120;

export class QuestionBook {
  #questions = new Map();
  #open = [];
  #looked = new Set();
  #timer = 0;
  #listeners = new Set();

  // Words typed as an answer and not sent yet, by question.
  drafts = new Map();

  constructor(connection) {
    this.connection = connection;
  }

  onChange(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // What waits for an answer, oldest first.
  get open() {
    return this.#open.map((id) => this.#questions.get(id));
  }

  question(id) {
    return this.#questions.get(id);
  }

  ofTask(taskId) {
    return this.open.find((question) => question.task_id === taskId);
  }

  // The question that this message of the main conversation tells. One that is not known is looked for once.
  ofMessage({ seq, delivery }) {
    const found = [...this.#questions.values()].find((question) => question.message_seq === seq && question.task_id === delivery.task_id);
    if (!found && !this.#looked.has(seq)) {
      this.#looked.add(seq);
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.refresh({ settled: true }).catch(() => null), QUIET_MS);
    }
    return found;
  }

  // Reads what is open now. How the others ended is only listed together with them, newest first.
  async refresh({ settled = false } = {}) {
    const open = listOf(await this.connection.request("user-question/list", { state: "open", limit: 100 }));
    const closed = this.#open.filter((id) => !open.some((question) => question.question_id === id));
    const recent = settled || closed.length ? listOf(await this.connection.request("user-question/list", { limit: 100 })) : [];
    this.#open = open.map((question) => question.question_id).reverse();
    for (const question of [...open, ...recent]) this.#keep(question);
    // Two reads may answer in the other order: what is known to have ended does not open again (I7).
    this.#open = this.#open.filter((id) => this.#questions.get(id).state === "open");
    this.#changed();
  }

  // Sends an answer, {option_id} or {text}, to exactly the question that was shown.
  async answer(question, answer) {
    await this.#settle("user-question/respond", question, { answer });
  }

  async cancel(question) {
    await this.#settle("user-question/cancel", question, {});
  }

  async #settle(method, { question_id: id, revision }, more) {
    try {
      await this.connection.request(method, { question_id: id, revision, ...more, request_id: newRequestId() });
      this.drafts.delete(id);
    } finally {
      // Whoever won: what the host says now is shown.
      await this.refresh({ settled: true }).catch(() => null);
    }
  }

  #keep(question) {
    const known = this.#questions.get(question.question_id);
    if (!known || known.revision <= question.revision) this.#questions.set(question.question_id, question);
  }

  #changed() {
    for (const listener of this.#listeners) listener();
  }
}
