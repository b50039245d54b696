// A task's detail: where it stands, what it gave, what was asked, its attempts, effects, deliveries and workflows (T16).

import { admissionCard, hasAdmission } from "./admission_card.js";
import { approvalCard } from "./approval_card.js";
import { short, timeTag } from "./clock.js";
import { el } from "./dom.js";
import { effectView } from "./effect_view.js";
import { artifactSource, fileChip } from "./files.js";
import { count, has, said, t } from "./i18n.js";
import { grantView } from "./grant_view.js";
import { icon } from "./icons.js";
import { noteOf } from "./inline_form.js";
import { questionCard } from "./question_card.js";
import { intentLine, taskControls } from "./task_controls.js";
import { isLive } from "./wire.js";
import { reasonWords, stateWords } from "./work.js";

export function taskView(answer, { book, questions, grants, tasks, stored, actions, showMessage }) {
  const { task, stillStopping } = answer;
  const asked = questions.ofTask(task.task_id);
  const waiting = book.pending.filter((card) => card.task_id === task.task_id);
  return el(
    "div",
    { class: "task" },
    el("h3", { class: "task-title" }, task.title),
    el("p", { class: "task-state" }, pill(task.state), isLive(task) && task.progress && el("span", { class: "task-progress" }, task.progress)),
    reasonWords(task) && el("p", { class: "task-reason" }, icon("alert"), reasonWords(task)),
    taskControls(answer, actions, stillStopping),
    asked && questionCard(questions, asked.question_id, { linkTask: false }),
    // What is allowed already stands with the permissions below, where it can be taken back.
    hasAdmission({ grants, book, tasks }, task.task_id) && !grants.activeOf(task.task_id) && admissionCard({ grants, book, tasks }, task.task_id, { linkTask: false }),
    waiting.map((card) => approvalCard(book, card.approval_id, { linkTask: false })),
    task.result && resultPart(task, stored),
    unknownPart((answer.effects ?? []).filter((effect) => effect.state === "unknown")),
    requirementsPart(answer.requirements ?? []),
    listPart("task.permissions", grants.ofTask(task.task_id).map((grant) => grantView(grant, actions))),
    listPart("task.questions", (answer.questions ?? []).filter((question) => question.state !== "open").map((question) => questionLine(question, showMessage))),
    listPart("task.stops", (answer.intents ?? []).map((intent) => intentLine(intent, answer, stillStopping))),
    listPart("task.effects", (answer.effects ?? []).map((effect) => effectView(effect, { actions }))),
    listPart("task.attempts", (answer.attempts ?? []).map(attemptLine)),
    listPart("task.deliveries", (answer.deliveries ?? task.deliveries ?? []).map((delivery) => deliveryLine(delivery, { actions, showMessage }))),
    listPart("task.workflows", (answer.workflows ?? []).map(workflowLine)),
    el(
      "dl",
      { class: "facts" },
      task.parent_task_id && fact("task.parent", el("a", { href: `#/task/${task.parent_task_id}` }, t("delivery.open"))),
      task.automation_id && fact("task.automation", el("a", { href: `#/automations/${task.automation_id}` }, t("delivery.open_automation"))),
      fact("task.created", timeTag(task.created_at, short)),
      fact("task.updated", timeTag(task.updated_at, short)),
    ),
  );
}

const pill = (state) => el("span", { class: `pill pill-${state}` }, stateWords(state));
const fact = (key, value) => el("div", {}, el("dt", {}, t(key)), el("dd", {}, value));

function part(key, ...content) {
  return el("section", { class: "part" }, el("h4", {}, t(key)), content);
}

function listPart(key, nodes) {
  return nodes.length > 0 && part(key, nodes);
}

function resultPart(task, stored) {
  const { summary, artifacts = [] } = task.result;
  return part(
    "task.result",
    el("div", { class: "plain result-summary" }, summary),
    artifacts.length > 0 && el("div", { class: "files" }, artifacts.map((file) => fileChip(stored, artifactSource(task.task_id, file)))),
  );
}

function requirementsPart(requirements) {
  if (requirements.length === 0) return false;
  const several = requirements.length > 1;
  return part(
    "task.requirement",
    requirements.map(({ version, instructions }) =>
      el("div", { class: "requirement" }, several && el("p", { class: "quiet" }, t("task.requirement_version", { n: version })), el("div", { class: "plain" }, instructions)),
    ),
  );
}

function attemptLine({ attempt, requirement_version: version, state, reason }) {
  const name = [t("task.attempt", { n: attempt }), version > 1 && t("task.requirement_version", { n: version })];
  return el("p", { class: "line" }, el("span", {}, name.filter(Boolean).join(" · ")), pill(state), reason && el("span", { class: "quiet" }, reasonWords({ reason })));
}

function deliveryLine(delivery, { actions, showMessage }) {
  const kind = has(`delivery.${delivery.kind}`) ? t(`delivery.${delivery.kind}`) : delivery.kind;
  const key = `retry:${delivery.delivery_id}`;
  const retry = () => actions.perform(key, "agents.tasks.retry_delivery", { delivery_id: delivery.delivery_id }, (answer) => stateWords(answer.delivery.state));
  return el(
    "div",
    { class: "line" },
    el("span", {}, kind),
    pill(delivery.state),
    delivery.reason && el("span", { class: "quiet" }, reasonWords(delivery)),
    toMessage(delivery, showMessage),
    delivery.state === "failed" && el("button", { type: "button", class: "text-button", disabled: actions.isBusy(key), data: { focus: `${key}:open` }, on: { click: retry } }, icon("retry"), t("delivery.retry")),
    noteOf(actions, key),
  );
}

const toMessage = ({ message_seq: seq }, showMessage) => seq && el("button", { type: "button", class: "text-button", on: { click: () => showMessage(seq) } }, t("task.show_message"));

// What nobody knows the outcome of stands before everything that was or will be done (T12).
function unknownPart(effects) {
  if (effects.length === 0) return false;
  return el(
    "section",
    { class: "unknown-effects" },
    el("p", { class: "approval-warning" }, icon("alert"), count("task.unknown", effects.length)),
    effects.map((effect) => el("p", { class: "line" }, el("a", { href: `#/effect/${effect.effect_id}` }, said(effect, "words")))),
  );
}

function questionLine(question, showMessage) {
  return el(
    "div",
    { class: "answered" },
    el("p", { class: "plain" }, question.text),
    question.answer !== undefined && el("p", { class: "question-answer" }, el("span", { class: "quiet" }, t("question.answer_was")), " ", question.answer),
    el("p", { class: "line" }, pill(question.state), toMessage(question, showMessage)),
  );
}

function workflowLine({ workflow_id: id, url }) {
  if (!url || !/^https?:\/\//.test(url)) return el("p", { class: "line" }, el("code", {}, id));
  return el("p", { class: "line" }, el("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, el("code", {}, id), icon("external")));
}
