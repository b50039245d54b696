// Automations in the right column: all of them, one of them, and the form of a new one (O6, U8). Each is what the detail
// shows: {shape, build(actions)}.

import { automationAuthority } from "./automation_authority.js";
import { formFrame } from "./automation_controls.js";
import { AutomationForm } from "./automation_form.js";
import { automationPill, automationReason, automationView, runWords } from "./automation_view.js";
import { timeTag, upcoming } from "./clock.js";
import { el } from "./dom.js";
import { said, t } from "./i18n.js";
import { icon } from "./icons.js";
import { proposalCard } from "./proposal_card.js";
import { ScheduleFields } from "./schedule_fields.js";
import { isLocalPage } from "./wire.js";

const CREATE = "automation:create";

export class AutomationPages {
  #forms = new Map();

  constructor({ connection, automations, profiles, grants, book }) {
    Object.assign(this, { connection, automations, profiles, authority: automationAuthority({ grants, automations, book }) });
  }

  automationForm = (automation = null) => new AutomationForm({ book: this.automations, automation, profiles: this.profiles.enabled });
  scheduleFields = (schedule) => new ScheduleFields(this.automations, schedule);

  // The form of an action, with what was typed, as long as it is open for the same subject.
  form(key, subject, make) {
    const known = this.#forms.get(key);
    if (known?.subject !== subject) this.#forms.set(key, { subject, form: make() });
    return this.#forms.get(key).form;
  }

  // The automation on screen is gone; what is said of it.
  deleted() {
    location.hash = "#/automations";
    return "automation.deleted";
  }

  async list() {
    if (!this.automations.loaded) await this.automations.refresh();
    const { failure, automations, proposals } = this.automations;
    if (failure && !this.automations.loaded) throw failure;
    const shape = JSON.stringify([automations, proposals]);
    return { shape, build: () => this.#list(automations, proposals) };
  }

  async one(id, { actions, showMessage }) {
    await this.profiles.known();
    if (id === "new") return { shape: "new", build: () => this.#create(actions) };
    const automation = await this.connection.call("agents.automations.get", { automation_id: id });
    this.automations.take(automation);
    const shape = JSON.stringify([automation, this.automations.proposals, this.authority.grants.ofTask(id)]);
    return { shape, build: () => this.#one(automation, { actions, showMessage }) };
  }

  #one(automation, { actions, showMessage }) {
    for (const key of this.#forms.keys()) if (key !== CREATE && !actions.isOpen(key)) this.#forms.delete(key);
    return automationView(automation, { pages: this, actions, showMessage });
  }

  #create(actions) {
    if (!isLocalPage) return el("p", { class: "quiet" }, t("automation.local"));
    const form = this.form(CREATE, "new", () => this.automationForm());
    const created = (answer) => {
      this.#forms.delete(CREATE);
      location.hash = `#/automations/${answer.automation_id}`;
      return t("automation.created");
    };
    const save = () => {
      const values = form.take();
      if (!values) return;
      const { instructions, ...params } = values;
      actions.perform(CREATE, "agents.automations.create", { ...params, schedule: form.schedule.schedule }, created, { userInput: { text: instructions } });
    };
    const cancel = () => {
      this.#forms.delete(CREATE);
      location.hash = "#/automations";
    };
    return formFrame(actions, CREATE, { title: t("automation.new"), form, save, label: t("automation.create"), cancel });
  }

  #list(automations, proposals) {
    const going = automations.filter(({ state }) => state !== "done");
    const done = automations.filter(({ state }) => state === "done");
    return el(
      "div",
      { class: "automations" },
      isLocalPage
        ? el("a", { class: "new-automation", href: "#/automations/new", data: { focus: "new" } }, icon("clock"), t("automation.new"))
        : el("p", { class: "quiet" }, t("automation.local")),
      proposals.map((proposal) => proposalCard(this.automations, proposal.proposal_id)),
      automations.length === 0 && el("p", { class: "quiet" }, t("automation.none")),
      going.length > 0 && el("ul", { class: "rows" }, going.map(automationRow)),
      done.length > 0 && el("section", { class: "part" }, el("h3", { class: "part-title" }, t("automation.done")), el("ul", { class: "rows" }, done.map(automationRow))),
    );
  }
}

function automationRow(automation) {
  const { automation_id: id, next_times: times = [], runs = [] } = automation;
  const why = automationReason(automation);
  const [last] = runs;
  return el(
    "li",
    {},
    el(
      "a",
      { class: "row automation-row", href: `#/automations/${id}`, data: { focus: id } },
      el("span", { class: `dot dot-automation-${automation.state}` }),
      el("span", { class: "row-title" }, automation.title ?? id),
      automationPill(automation),
      el("span", { class: "row-line schedule-words" }, said(automation, "words") ?? ""),
      (times[0] || last || why) && el(
        "span",
        { class: "row-line" },
        times[0] && [t("automation.next_time"), " ", timeTag(times[0], upcoming)],
        why && !times[0] && why,
        last && [times[0] || why ? " · " : "", t("automation.last_run", { outcome: runWords(last) })],
      ),
    ),
  );
}
