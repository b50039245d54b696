// The right column: one column with three bands, and details that take its place. Everything here is re-read on
// notice; several notices in one moment cost one read.

import { admissionCard } from "./admission_card.js";
import { approvalCard } from "./approval_card.js";
import { relativeTag } from "./clock.js";
import { el, reconcile } from "./dom.js";
import { artifactSource, fileChip } from "./files.js";
import { codeWords, errorWords, has, number, onLanguage, t } from "./i18n.js";
import { proposalCard } from "./proposal_card.js";
import { questionCard } from "./question_card.js";
import { countInTitle } from "./title.js";
import { isLive } from "./wire.js";

const QUIET_MS = 120;
const byId = (id) => document.getElementById(id);

export class Work {
  #activity = null;
  #error = null;
  #timer = 0;
  #bands = null;

  // `inConversation`: {question(question), task(id), card(card), proposal(proposal)} say what stands there already.
  constructor({ connection, book, questions, grants, tasks, automations, stored, inConversation }) {
    Object.assign(this, { connection, book, questions, grants, tasks, automations, stored, inConversation });
    onLanguage(() => this.#build());
    for (const source of [book, questions, grants, automations]) source.onChange(() => this.#show());
    this.#build();
  }

  // Asks for a fresh reading soon.
  refreshSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.refresh(), QUIET_MS);
  }

  async refresh() {
    try {
      this.#activity = await this.connection.call("agents.activity");
      this.#error = null;
      this.tasks.take([...this.#activity.in_progress, ...this.#activity.recent_activity].filter((item) => item.title));
    } catch (error) {
      this.#error = error;
    }
    this.#show();
  }

  // Something has come to stand in the conversation, or does not any more.
  conversationChanged() {
    this.#show();
  }

  #build() {
    const band = (key, extra) => {
      const list = el("ul", { class: "rows" });
      const none = el("p", { class: "quiet" });
      const tally = el("span", { class: "tally" });
      const section = el("section", { class: "band", "aria-labelledby": `band-${key}` }, el("h2", { id: `band-${key}` }, t(`work.${key}`), tally), extra, none, list);
      return { section, list, none, tally };
    };
    const cards = el("div", { class: "work-cards" });
    this.#bands = {
      cards,
      progress: band("in_progress", cards),
      activity: band("recent_activity"),
      outputs: band("recent_outputs"),
    };
    const { progress, activity, outputs } = this.#bands;
    byId("work-bands").replaceChildren(progress.section, activity.section, outputs.section);
    this.#show();
  }

  #show() {
    const { cards, progress, activity, outputs } = this.#bands;
    const { inConversation: there } = this;
    const asked = this.questions.open.filter((question) => !there.question(question)).map((question) => question.question_id);
    const wanting = [...new Set(this.grants.requests.map((request) => request.task_id))].filter((id) => !there.task(id));
    const pending = this.book.pending.filter((card) => card.task_id && !there.card(card)).map((card) => card.approval_id);
    const proposed = this.automations.proposals.filter((proposal) => !there.proposal(proposal)).map((proposal) => proposal.proposal_id);
    const waiting = [...asked, ...wanting, ...pending, ...proposed];
    const card = (id) => {
      if (proposed.includes(id)) return proposalCard(this.automations, id);
      if (asked.includes(id)) return questionCard(this.questions, id);
      return wanting.includes(id) ? admissionCard(this, id) : approvalCard(this.book, id);
    };
    reconcile(cards, waiting, (id) => id, card);
    this.#badge(waiting.length, this.book.pending.length + this.questions.open.length + this.grants.waiting.length + this.automations.waiting.length);
    const { in_progress: running = [], recent_activity: recent = [], recent_outputs: outcomes = [] } = this.#activity ?? {};
    this.#fill(progress, running, "work.none_in_progress", (task) => task.task_id, taskRow, waiting.length);
    this.#fill(activity, recent, "work.none_activity", rowKey, taskRow);
    this.#fill(outputs, outcomes, "work.none_outputs", (task) => task.task_id, (task) => this.#outputRow(task));
  }

  #fill(band, items, emptyKey, keyOf, render, besides = 0) {
    reconcile(band.list, items, keyOf, render);
    const loading = !this.#activity && !this.#error;
    band.none.hidden = items.length + besides > 0 || loading;
    band.none.textContent = this.#error ? `${t("work.failed")} ${errorWords(this.#error)}` : t(emptyKey);
    band.tally.textContent = band === this.#bands.progress && items.length ? number(items.length) : "";
  }

  // What waits in this column, and what waits anywhere on the page.
  #badge(here, anywhere) {
    const badge = byId("phone-badge");
    badge.hidden = here === 0;
    badge.textContent = number(here);
    countInTitle("waiting", anywhere);
  }

  // What a task gave: its files, or the first words of its summary where it gave none.
  #outputRow({ task_id: taskId, title, result }) {
    const files = (result.artifacts ?? []).map((file) => fileChip(this.stored, artifactSource(taskId, file)));
    const summary = files.length === 0 && el("p", { class: "output-summary" }, result.summary);
    return el("li", { class: "output" }, el("a", { class: "output-task", href: `#/task/${taskId}` }, title), files, summary);
  }
}

const rowKey = (item) => item.effect_id ?? item.approval_id ?? `${item.task_id}:${item.kind ?? ""}:${item.delivery_id ?? ""}`;

// A task, effect or decision as a row that opens its detail.
export function taskRow(item) {
  const [kind, id] = item.effect_id ? ["effect", item.effect_id] : item.approval_id ? ["approval", item.approval_id] : ["task", item.task_id];
  const when = item.at ?? item.updated_at ?? item.created_at;
  // A question is told by its card, once.
  const line = isLive(item) ? !item.question && item.progress : reasonWords(item);
  return el(
    "li",
    {},
    el(
      "a",
      { class: "row", href: `#/${kind}/${id}` },
      el("span", { class: `dot dot-${item.state}` }),
      el("span", { class: "row-title" }, item.title ?? item.words ?? id),
      when && relativeTag(when),
      el("span", { class: "row-line" }, stateWords(item.state), line && ` · ${line}`),
    ),
  );
}

// Why something failed: the known reason in the reader's language, and the executor's own words where it gave some.
export function reasonWords({ reason, reason_text: own }) {
  const words = reason && codeWords(reason);
  // A bare code says nothing to a person beside the executor's own words.
  return [words === reason && own ? null : words, own].filter(Boolean).join(" ");
}

export const stateWords = (state) => {
  const key = has(`state.${state}`) ? `state.${state}` : `approval.${state}`;
  return has(key) ? t(key) : state;
};
