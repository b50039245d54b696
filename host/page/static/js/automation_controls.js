// What a person can do about an automation: pause and resume it, run it now, move it, change what it does, delete it
// (U3, U7). Each press names the revision that was on screen.

import { el } from "./dom.js";
import { said, t } from "./i18n.js";
import { inlineForm, noteOf } from "./inline_form.js";

export function automationControls(automation, { pages, actions }) {
  const { automation_id: id, revision, state } = automation;
  const write = (name, method, params, done, options) =>
    actions.perform(`automation:${name}`, `agents.automations.${method}`, { automation_id: id, expected_revision: revision, ...params }, done, options);
  const press = (name, key, done) => pressed(actions, `automation:${name}`, t(key), () => write(name, name, {}, () => t(done)));
  const open = ["reschedule", "edit"].find((name) => actions.isOpen(`automation:${name}`));
  if (open) return open === "edit" ? editForm(automation, { pages, actions, write }) : rescheduleForm(automation, { pages, actions, write });
  return el(
    "div",
    { class: "task-controls" },
    state === "active" && press("pause", "automation.pause", "automation.paused_done"),
    state === "paused" && press("resume", "automation.resume", "automation.resumed_done"),
    press("trigger", "automation.trigger", "automation.trigger_done"),
    opener(actions, "automation:reschedule", t("automation.reschedule")),
    opener(actions, "automation:edit", t("automation.edit")),
    inlineForm(actions, "automation:delete", {
      label: t("automation.delete"),
      look: "text-button",
      words: [t("automation.delete_words")],
      buttons: [{ label: t("automation.delete_yes"), look: "danger-button", act: () => write("delete", "delete", {}, () => t(pages.deleted())) }],
    }),
    ["pause", "resume", "trigger"].map((name) => noteOf(actions, `automation:${name}`)),
  );
}

function rescheduleForm(automation, { pages, actions, write }) {
  const key = "automation:reschedule";
  const fields = pages.form(key, automation.automation_id, () => pages.scheduleFields(automation.schedule));
  const save = () => fields.tellMissing() || write("reschedule", "reschedule", { schedule: fields.schedule }, (answer) => `${t("automation.moved_done")} ${said(answer, "words")}`);
  return formFrame(actions, key, { title: t("automation.reschedule"), form: fields, note: t("automation.reschedule_note"), save, label: t("automation.reschedule_yes") });
}

function editForm(automation, { pages, actions, write }) {
  const key = "automation:edit";
  const form = pages.form(key, automation.automation_id, () => pages.automationForm(automation));
  const save = () => {
    if (!form.take()) return;
    const { instructions, ...others } = form.changes;
    const named = { ...others, ...(instructions !== undefined && { instructions }) };
    if (Object.keys(named).length === 0) actions.close(key, `${key}:open`);
    else write("edit", "update", named, () => t("automation.saved"));
  };
  return formFrame(actions, key, { title: t("automation.edit"), form, note: t("automation.edit_note"), save, label: t("automation.save") });
}

// A form of its own around fields that are kept; `cancel` leaves it another way than by closing it in place.
export function formFrame(actions, key, { title, form, note = null, save, label, cancel = null }) {
  const busy = actions.isBusy(key);
  const back = cancel ?? (() => actions.close(key, `${key}:open`));
  const view = form.view();
  view.querySelector("input, select, textarea").dataset.focus = `${key}:form`;
  const told = tellFault(form, actions.fault(key));
  const submit = (event) => {
    event.preventDefault();
    if (!actions.isBusy(key)) save();
  };
  const escape = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    back();
  };
  return el(
    "form",
    { class: "inline-form open automation-edit", "aria-label": title, novalidate: true, on: { submit, keydown: escape } },
    view,
    note && el("p", { class: "quiet" }, note),
    el(
      "div",
      { class: "inline-actions" },
      el("button", { type: "submit", class: "primary-button", disabled: busy, data: { focus: `${key}:0` } }, label),
      el("button", { type: "button", class: "text-button", disabled: busy, data: { focus: `${key}:back` }, on: { click: back } }, t("form.back")),
    ),
    !told && noteOf(actions, key),
  );
}

// Tells a refusal at its field, once: what the person then writes is not marked wrong again.
const toldBy = new WeakMap();
function tellFault(form, fault) {
  if (!fault) return false;
  if (toldBy.get(form)?.fault !== fault) toldBy.set(form, { fault, told: form.showFault(fault) });
  return toldBy.get(form).told;
}

const opener = (actions, key, words) =>
  el("button", { type: "button", class: "secondary-button", "aria-expanded": "false", data: { focus: `${key}:open` }, on: { click: () => actions.open(key, `${key}:form`) } }, words);

const pressed = (actions, key, words, press) =>
  el("button", { type: "button", class: "secondary-button", disabled: actions.isBusy(key), data: { focus: `${key}:open` }, on: { click: press } }, words);
