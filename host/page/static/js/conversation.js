// The middle column: stored messages, what is on its way out, replies being streamed, and cards of the present turn.

import { announce } from "./announcer.js";
import { approvalCard } from "./approval_card.js";
import { el, reconcile } from "./dom.js";
import { count, errorWords, onLanguage, t } from "./i18n.js";
import { icon } from "./icons.js";
import { messageView } from "./message_view.js";
import { pendingView } from "./pending_view.js";
import { Places } from "./places.js";
import { newRequestId } from "./rpc.js";
import { Scrolling } from "./scrolling.js";
import { Seen } from "./seen.js";
import { Streams } from "./streams.js";
import { Thread } from "./thread.js";

const SUGGESTIONS = ["welcome.1", "welcome.2", "welcome.3"];
const byId = (id) => document.getElementById(id);

export class Conversation {
  #loadingEarlier = false;
  #wanted = null;

  // `composer` takes refused texts back.
  constructor({ connection, book, questions, grants, tasks, effects, automations, stored, outbox, turns, composer }) {
    Object.assign(this, { connection, book, questions, grants, effects, automations, outbox, turns, composer });
    this.thread = new Thread({
      connection,
      list: byId("messages"),
      view: (message) => messageView(message, { book, questions, stored }),
      onAdded: (messages, first) => this.#added(messages, first),
    });
    this.places = new Places({ thread: this.thread, grants, book, tasks, effects, automations });
    this.seen = new Seen({ connection, scroller: byId("scroller"), thread: this.thread });
    this.streams = new Streams(byId("streams"));
    this.scrolling = new Scrolling({
      scroller: byId("scroller"),
      content: document.querySelector(".thread"),
      toLatest: byId("to-latest"),
      onTop: () => this.#earlier(),
    });
    byId("stop-turn").addEventListener("click", () => this.#stop());
    outbox.on((receipt) => this.#outboxChanged(receipt));
    turns.on((id, what, value) => this.#turnChanged(id, what, value));
    book.onChange(() => this.#showCards());
    questions.onChange(() => this.#showCards());
    grants.onChange(() => this.#showCards());
    automations.onChange(() => this.#showCards());
    onLanguage(() => this.#redraw());
    this.#showPending();
  }

  // Reads what was missed and settles what it shows (after every reconnect, and on notice).
  async catchUp() {
    try {
      await this.thread.catchUp();
      this.#top();
      this.outbox.settle(this.thread.lastSeq);
    } catch (error) {
      byId("thread-top").replaceChildren(el("p", { class: "quiet" }, t("conversation.failed"), " ", errorWords(error)));
    }
  }

  async reconnected() {
    await this.catchUp();
    await this.turns.recheck(this.thread.hasReplyOf);
    for (const { role, turn_id: turn, receipt } of this.thread.messages()) {
      if (role === "user" && receipt?.state === "accepted" && !this.thread.hasReplyOf(turn)) {
        await this.#noteIfOpen(turn, receipt.request_id);
      }
    }
    this.outbox.pump();
  }

  // A message read long ago may name a receipt that has moved on since.
  async #noteIfOpen(turn, requestId) {
    const answer = await this.connection.call("agents.receipt", { request_id: requestId }).catch(() => null);
    if (answer?.receipt.state === "accepted") this.turns.noteAccepted(turn, requestId, true);
  }

  // Whether a message is before the reader's eyes.
  inView(seq) {
    const node = this.thread.node(seq);
    if (!node?.checkVisibility()) return false;
    const [own, room] = [node, byId("scroller")].map((part) => part.getBoundingClientRect());
    return own.top < room.bottom && own.bottom > room.top;
  }

  // Goes to a message; where the page has just been opened, as soon as there are any.
  async show(seq) {
    this.#wanted = this.thread.loaded ? null : seq;
    if (this.#wanted) return;
    if (seq > this.thread.lastSeq) await this.catchUp();
    while (!this.thread.has(seq) && this.thread.hasEarlier && this.thread.firstSeq > seq) await this.thread.earlier();
    const node = this.thread.node(seq);
    if (node) this.scrolling.toNode(node);
  }

  #added(messages, first) {
    byId("welcome").hidden = !this.thread.isEmpty;
    if (this.thread.isEmpty) this.#welcome();
    for (const message of messages) {
      if (message.role !== "assistant") continue;
      this.streams.remove(message.turn_id);
      if (!first && message.seq === this.thread.lastSeq && message.delivery) {
        announce(`${t("conversation.new")}: ${t(`delivery.${message.delivery.kind}`)}`);
      }
    }
    this.#marks();
    this.#showCards();
    this.#fillPlaces();
    this.seen.watch();
    if (!first) return;
    this.scrolling.toEnd();
    if (this.#wanted) this.show(this.#wanted);
  }

  // A message that is known to tell a question carries its card: it need not stand in the right column too.
  carries = (question) => question.message_seq !== null && this.thread.has(question.message_seq);

  #fillPlaces() {
    this.places.fill();
    const oldest = this.thread.messages()[0]?.time;
    if (oldest) this.effects.reach(oldest).catch(() => null);
  }

  async #earlier() {
    if (this.#loadingEarlier || !this.thread.hasEarlier || !this.thread.loaded) return;
    this.#loadingEarlier = true;
    try {
      await this.scrolling.holding(() => this.thread.earlier());
      this.#top();
    } finally {
      this.#loadingEarlier = false;
    }
  }

  #top() {
    const key = this.thread.hasEarlier ? "conversation.earlier" : this.thread.isEmpty ? null : "conversation.beginning";
    byId("thread-top").replaceChildren(...(key ? [el("p", { class: "quiet" }, t(key))] : []));
  }

  #welcome() {
    byId("welcome").replaceChildren(
      el("span", { class: "welcome-mark" }, icon("mark")),
      el("h3", {}, t("welcome.title")),
      el("p", {}, t("welcome.text")),
      el("div", { class: "suggestions" }, SUGGESTIONS.map((key) =>
        el("button", { type: "button", on: { click: () => this.composer.suggest(t(key)) } }, el("span", {}, t(key)), icon("arrow")),
      )),
    );
  }

  #outboxChanged(receipt) {
    if (receipt) {
      this.turns.noteAccepted(receipt.turn_id, receipt.request_id, false);
      this.catchUp();
    }
    this.#showPending();
  }

  #showPending() {
    const online = this.connection.state === "online";
    const shown = this.outbox.entries.map((entry) => ({ ...entry, online }));
    reconcile(byId("pending"), shown, (entry) => entry.request_id, (entry) => this.#pendingView(entry));
    if (shown.length) byId("welcome").hidden = true;
  }

  #pendingView(shown) {
    const entry = this.outbox.entries.find((candidate) => candidate.request_id === shown.request_id);
    return pendingView(shown, {
      onDiscard: () => this.outbox.remove(entry),
      onEdit: () => {
        this.outbox.remove(entry);
        this.composer.edit(entry);
      },
    });
  }

  linkChanged() {
    this.#showPending();
  }

  async #turnChanged(id, what, value) {
    if (what === "delta") this.streams.append(id, value);
    else if (what === "reset") this.streams.clear(id);
    else if (what === "ended") {
      this.effects.refreshSoon();
      await this.catchUp();
      this.streams.remove(id);
    }
    if (what !== "delta") this.#marks();
  }

  // The running reply's status line, the stop button, and "queued" at inputs that wait.
  #marks() {
    const running = this.turns.running;
    this.streams.removeWhere((id) => this.turns.stateOf(id) === "queued");
    if (running && !this.thread.hasReplyOf(running)) {
      const waits = this.book.pending.some((card) => card.turn_id === running && !card.task_id);
      this.streams.mark(running, waits);
    }
    const stop = byId("stop-turn");
    if (stop.dataset.turn !== (running ?? "")) stop.disabled = false;
    stop.dataset.turn = running ?? "";
    stop.hidden = !running;
    for (const node of byId("messages").querySelectorAll(".from-user")) {
      const queued = this.turns.stateOf(node.dataset.turn) === "queued";
      node.querySelector(".message-note").textContent = queued ? t("message.queued") : "";
    }
  }

  async #stop() {
    const stop = byId("stop-turn");
    const turn = stop.dataset.turn;
    stop.disabled = true;
    announce(t("turn.stopping"));
    const params = { session_id: this.connection.session.main_session_id, turn_id: turn };
    try {
      const { outcome } = await this.connection.call("agents.stop_turn", params, { requestId: newRequestId() });
      if (outcome !== "stopping") this.turns.end(turn, "stopped");
    } catch (error) {
      stop.disabled = false;
      announce(errorWords(error));
    }
  }

  // Cards of turns stand at the end of the conversation until a stored message carries them; those of tasks, and their
  // questions, are counted in the strip.
  #showCards() {
    const carried = new Set(this.thread.messages().map((message) => message.card));
    const own = this.book.pending.filter((card) => !card.task_id && !carried.has(card.approval_id));
    reconcile(byId("turn-cards"), own.map((card) => card.approval_id), (id) => id, (id) => approvalCard(this.book, id));
    const others = this.book.pending.filter((card) => card.task_id).length;
    const asked = this.questions.open.length;
    const permissions = this.grants.waiting.length;
    const proposals = this.automations.waiting.length;
    const words = [
      others && count("conversation.decisions", others),
      asked && count("conversation.questions", asked),
      permissions && count("conversation.permissions", permissions),
      proposals && count("conversation.proposals", proposals),
    ];
    const strip = byId("decision-strip");
    strip.hidden = others + asked + permissions + proposals === 0;
    strip.replaceChildren(icon(others || permissions ? "shield" : asked ? "question" : "clock"), el("span", {}, words.filter(Boolean).join(" · ")), icon("chevron"));
    this.#marks();
  }

  #redraw() {
    this.streams.redraw();
    this.thread.redraw();
    this.seen.watch();
    if (this.thread.loaded) {
      this.#top();
      if (this.thread.isEmpty) this.#welcome();
    }
    this.#showPending();
    this.#showCards();
    this.places.fill();
  }
}
