// What a person can do about a task: stop it, resume it, and see how far a stop is (S1-S3, T11).

import { el } from "./dom.js";
import { count, said, t } from "./i18n.js";
import { icon } from "./icons.js";
import { inlineForm } from "./inline_form.js";
import { isLive } from "./wire.js";

const UNDELIVERED = new Set(["waiting", "submitted", "failed"]);

export const activeIntent = ({ intents = [] }) => intents.find((intent) => intent.state !== "done");

// `stillStopping`: how many of the tasks that an unfinished stop covers have not come to their end.
export function taskControls(answer, actions, stillStopping) {
  const { task, deliveries = [] } = answer;
  const intent = activeIntent(answer);
  if (intent) return el("p", { class: "stop-state", role: "status" }, icon("stop"), intentWords(intent, stillStopping));
  if (task.state === "stopping") return el("p", { class: "stop-state", role: "status" }, icon("stop"), t("stop.with_parent"));
  if (isLive(task)) return el("div", { class: "task-controls" }, stopForm(task, actions, "stop"));
  return el(
    "div",
    { class: "task-controls" },
    !task.parent_task_id && resumeForm(answer, actions),
    deliveries.some(({ state }) => UNDELIVERED.has(state)) && stopForm(task, actions, "withdraw"),
  );
}

// A stop in words: what it waits for, or what it has found.
export function intentWords({ state, outcome }, stillStopping) {
  if (state === "done") return t(`stop.${outcome}`);
  if (state === "accepted") return t("stop.accepted");
  return stillStopping ? count("stop.reconciling", stillStopping) : t("stop.replies");
}

// All stops of a task, with what each could not settle.
export function intentLine(intent, { effects = [] }, stillStopping) {
  const named = new Map(effects.map((effect) => [effect.effect_id, said(effect, "words")]));
  return el(
    "div",
    { class: "intent" },
    el("p", { class: "line" }, intentWords(intent, stillStopping)),
    intent.unsettled.length > 0 && el("p", { class: "approval-warning" }, icon("alert"), count("stop.unsettled", intent.unsettled.length)),
    intent.unsettled.map((id) => el("p", { class: "line" }, el("a", { href: `#/effect/${id}` }, named.get(id) ?? id))),
  );
}

function stopForm(task, actions, kind) {
  const key = `stop:${task.task_id}`;
  const stop = () => actions.perform(key, "agents.tasks.stop", { task_id: task.task_id }, ({ intent }) => intentWords(intent, 1));
  return inlineForm(actions, key, {
    label: t(`stop.${kind}`),
    words: [t(`stop.${kind}_words`)],
    buttons: [{ label: t(`stop.${kind}_yes`), look: "danger-button", act: stop }],
  });
}

function resumeForm({ task, effects = [] }, actions) {
  const key = `resume:${task.task_id}`;
  const unknown = effects.filter((effect) => effect.state === "unknown").length;
  const resume = (instructions) =>
    actions.perform(key, "agents.tasks.resume", { task_id: task.task_id, ...(instructions && { instructions }) }, (answer) =>
      t("resume.done", { n: answer.task.requirement_version }),
    );
  return inlineForm(actions, key, {
    label: t("resume.resume"),
    words: [t("resume.words"), unknown > 0 && count("resume.unknown", unknown)],
    field: { label: t("resume.instructions"), hint: t("resume.hint") },
    buttons: [{ label: t("resume.yes"), look: "primary-button", act: resume }],
  });
}
