// The detail that takes the right column's place: task, effect, decision, or the automations. It is read anew on notice while it is
// open, keeps its scroll position, its open parts and the focus, and gives focus back to the row that opened it.

import { Actions } from "./actions.js";
import { approvalCard } from "./approval_card.js";
import { el } from "./dom.js";
import { effectView } from "./effect_view.js";
import { focusMemory } from "./focus.js";
import { failureWords, onLanguage, t } from "./i18n.js";
import { icon } from "./icons.js";
import { activeIntent } from "./task_controls.js";
import { taskView } from "./task_view.js";
import { listOf } from "./wire.js";

const byId = (id) => document.getElementById(id);
const MAX_PAGES = 10;
const QUIET_MS = 120;
const TITLES = { task: "task.title", effect: "effect.title", approval: "approval.detail", automations: "nav.automations", automation: "automation.title" };

export class Detail {
  #open = null;
  #opener = null;
  #content = null;
  #timer = 0;
  #held = "[]";

  // `pages` are those of the automations; `onClose` leads one place up.
  constructor({ connection, book, questions, grants, tasks, stored, pages, showMessage, onClose }) {
    Object.assign(this, { connection, book, questions, grants, tasks, stored, pages, showMessage, onClose });
    this.actions = new Actions(connection, { redraw: () => this.#content && this.#draw(), reread: () => this.#reread() });
    grants.onChange(() => this.#grantsChanged());
    onLanguage(() => this.#open && this.#render(this.#open));
    byId("work-detail").addEventListener("keydown", (event) => event.key === "Escape" && onClose());
  }

  // Shows {kind, id}, or the bands again for null.
  open(subject) {
    if (subject?.kind === this.#open?.kind && subject?.id === this.#open?.id) return;
    if (!this.#open) this.#opener = document.activeElement?.getAttribute?.("href");
    this.#open = subject;
    this.actions.forget();
    byId("work-bands").hidden = Boolean(subject);
    byId("work-detail").hidden = !subject;
    if (subject) this.#render(subject);
    else this.#returnFocus();
  }

  // Reads the open detail again.
  async refresh() {
    if (this.#open && this.connection.session) await this.#fill(this.#open);
  }

  // The automations have changed.
  automationsChanged() {
    if (this.#open?.kind.startsWith("automation")) this.refreshSoon();
  }

  // The same, once for several notices of one moment.
  refreshSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.refresh(), QUIET_MS);
  }

  #grantsChanged() {
    const { kind, id } = this.#open ?? {};
    const held = JSON.stringify(kind === "task" ? this.grants.ofTask(id) : kind === "automation" ? this.grants.ofAutomation(id) : []);
    if (held !== this.#held) this.refreshSoon();
    this.#held = held;
  }

  // What an action here may have changed.
  async #reread() {
    await this.grants.refresh().catch(() => null);
    if (this.#open?.kind.startsWith("automation")) await this.pages.automations.refresh();
    await this.refresh();
  }

  #render(subject) {
    const heading = el("h2", { tabindex: "-1" }, t(TITLES[subject.kind]));
    const back = el("button", { type: "button", class: "icon-button", "aria-label": t("back"), title: t("back"), on: { click: this.onClose } }, icon("back"));
    byId("work-detail").replaceChildren(el("header", { class: "detail-head" }, back, heading), el("div", { class: "detail-body" }));
    this.#content = null;
    heading.focus({ preventScroll: true });
    this.refresh();
  }

  async #fill(subject) {
    let content;
    try {
      content = await this.#read(subject);
    } catch (error) {
      content = { shape: error.code, build: () => el("p", { class: "quiet" }, error.code === "not_found" ? t(`${subject.kind}.not_found`) : failureWords(error)) };
    }
    if (subject !== this.#open) return;
    const isSame = content.shape === this.#content?.shape;
    this.#content = content;
    if (!isSame) this.#draw();
  }

  #draw() {
    const detail = byId("work-detail");
    const body = detail.querySelector(".detail-body");
    const openParts = [...body.querySelectorAll("details[open]")].map((part) => part.dataset.part);
    const restoreFocus = focusMemory(body);
    body.replaceChildren(this.#content.build());
    for (const part of body.querySelectorAll("details")) part.open ||= openParts.includes(part.dataset.part);
    restoreFocus({ wanted: this.actions.takeFocus(), fallback: detail.querySelector("h2") });
  }

  async #read({ kind, id }) {
    if (kind === "automations") return this.pages.list();
    if (kind === "automation") return this.pages.one(id, this);
    if (kind === "approval") return { shape: id, build: () => approvalCard(this.book, id) };
    if (kind === "effect") {
      const effect = await this.#findEffect(id);
      if (!effect) return { shape: "none", build: () => el("p", { class: "quiet" }, t("effect.not_found")) };
      return { shape: JSON.stringify(effect), build: () => effectView(effect, { open: true, link: true, actions: this.actions }) };
    }
    const answer = await this.connection.call("agents.tasks.get", { task_id: id });
    this.tasks.take([answer.task]);
    const stillStopping = await this.#stillStopping(answer);
    const cards = this.book.pending.map((card) => card.approval_id);
    return { shape: JSON.stringify([answer, stillStopping, cards, this.questions.ofTask(id), this.grants.ofTask(id)]), build: () => taskView({ ...answer, stillStopping }, this) };
  }

  // Of the tasks that an unfinished stop covers, those that have not come to their end.
  async #stillStopping(answer) {
    const covered = activeIntent(answer)?.covered;
    if (!covered) return 0;
    const stopping = listOf(await this.connection.call("agents.tasks.list", { state: "stopping", limit: 100 }));
    return stopping.filter((task) => covered.includes(task.task_id)).length;
  }

  // Effects are only listed, newest first; one that is opened from this page is near the front.
  async #findEffect(id) {
    let cursor = null;
    for (let page = 0; page < MAX_PAGES; page++) {
      const answer = await this.connection.call("agents.effects.list", { limit: 100, ...(cursor && { cursor }) });
      const effect = listOf(answer).find((candidate) => candidate.effect_id === id);
      cursor = answer.next_cursor;
      if (effect || !cursor) return effect;
    }
    return undefined;
  }

  #returnFocus() {
    const row = this.#opener && document.querySelector(`#work-bands a[href="${CSS.escape(this.#opener)}"], .nav a[href="${CSS.escape(this.#opener)}"], #messages a[href="${CSS.escape(this.#opener)}"]`);
    if (row) row.focus({ preventScroll: true });
    else byId("composer-text").focus({ preventScroll: true });
  }
}
