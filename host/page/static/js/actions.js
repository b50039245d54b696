// What a person does in an open detail: the one small form that is open, its words, what is on its way, what was
// refused. The detail is built anew on every notice; this is the part that stays.

import { announce } from "./announcer.js";
import { errorWords } from "./i18n.js";
import { newRequestId } from "./rpc.js";

export class Actions {
  #form = null;
  #drafts = new Map();
  #busy = new Set();
  #notes = new Map();
  #focus = null;

  // `redraw()` builds the detail anew from what was read, `reread()` reads it first.
  constructor(connection, { redraw, reread }) {
    Object.assign(this, { connection, redraw, reread });
  }

  isOpen = (key) => this.#form === key;
  isBusy = (key) => this.#busy.has(key);
  note = (key) => this.#notes.get(key)?.words;
  // The refusal itself, for a form that shows it beside the field it is about.
  fault = (key) => this.#notes.get(key)?.error;
  draft = (key) => this.#drafts.get(key) ?? "";
  write = (key, words) => this.#drafts.set(key, words);

  open(key, focus) {
    this.#form = key;
    this.#notes.delete(key);
    this.#redrawWith(focus);
  }

  close(key, focus) {
    if (this.isOpen(key)) this.#form = null;
    this.#notes.delete(key);
    this.#redrawWith(focus);
  }

  // The part to focus after the present redraw; asking takes it.
  takeFocus() {
    const focus = this.#focus;
    this.#focus = null;
    return focus;
  }

  // Another subject is shown: nothing that was begun for the last one stays.
  forget() {
    this.#form = null;
    this.#drafts.clear();
    this.#notes.clear();
  }

  // Calls a writing method of the action `key`; says `done(answer)` aloud, or shows why it was refused.
  // `userInput` goes in the envelope, beside the parameters.
  perform(key, method, params, done, { userInput } = {}) {
    const job = () => this.connection.call(method, params, { requestId: newRequestId(), userInput });
    return this.attempt(key, job, done, errorWords);
  }

  // The same for a job of any kind; `refused(error)` are the words of its failure.
  async attempt(key, job, done, refused) {
    if (this.isBusy(key)) return;
    this.#busy.add(key);
    this.#notes.delete(key);
    this.redraw();
    let next = `${key}:open`;
    try {
      announce(done(await job()) ?? "");
      this.#drafts.delete(key);
    } catch (error) {
      this.#notes.set(key, { words: refused(error), error });
      next = this.isOpen(key) ? `${key}:0` : next;
    }
    // Refused or not, it is shown as it is now: a refusal mostly says that the page was behind.
    await this.reread();
    this.#busy.delete(key);
    if (!this.note(key) && this.isOpen(key)) this.#form = null;
    this.#redrawWith(next);
  }

  #redrawWith(focus) {
    this.#focus = focus;
    this.redraw();
  }
}
