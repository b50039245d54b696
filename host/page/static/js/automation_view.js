// An automation's detail: when it runs, what it may do unattended, what it does, and what became of its runs (U7, U8).

import { admissionCard } from "./admission_card.js";
import { automationControls } from "./automation_controls.js";
import { catchUpWords, choiceWords } from "./automation_form.js";
import { short, timeTag } from "./clock.js";
import { el } from "./dom.js";
import { grantView } from "./grant_view.js";
import { codeWords, has, number, said, t } from "./i18n.js";
import { icon } from "./icons.js";
import { proposalCard } from "./proposal_card.js";
import { timesList } from "./schedule_fields.js";
import { isLocalPage } from "./wire.js";
import { stateWords } from "./work.js";

const HELD = new Set(["active", "unbound"]);

// `pages` holds the open forms and the books; `actions` are those of the detail around it.
export function automationView(automation, { pages, actions, showMessage }) {
  const { automation_id: id, next_times: times = [], runs = [] } = automation;
  const proposed = pages.automations.proposals.filter((proposal) => proposal.automation_id === id);
  return el(
    "div",
    { class: "task automation", data: { automation: id } },
    el("h3", { class: "task-title" }, automation.title),
    el("p", { class: "task-state" }, automationPill(automation)),
    automationReason(automation) && el("p", { class: "task-reason" }, icon("alert"), automationReason(automation)),
    el("p", { class: "schedule-words" }, said(automation, "words")),
    proposed.map((proposal) => proposalCard(pages.automations, proposal.proposal_id, { link: false })),
    times.length > 0 && part("automation.next", timesList(times, automation.schedule?.timezone)),
    isLocalPage ? automationControls(automation, { pages, actions }) : el("p", { class: "quiet" }, t("automation.local")),
    permissionPart(automation, { pages, actions }),
    part("automation.what", el("div", { class: "plain" }, automation.instructions), facts(automation, pages)),
    part("automation.runs", runs.length > 0 ? el("ol", { class: "runs" }, runs.map((run) => runLine(run, showMessage))) : el("p", { class: "quiet" }, t("automation.no_runs"))),
  );
}

export const automationPill = ({ state }) => el("span", { class: `pill pill-automation-${state}` }, t(has(`automation.state.${state}`) ? `automation.state.${state}` : "automation.state.broken"));

// Why it does not run by itself, where somebody other than the person decided that.
export function automationReason({ reason, error }) {
  const code = reason ?? error?.code;
  if (!code) return null;
  return has(`automation.reason.${code}`) ? t(`automation.reason.${code}`) : codeWords(code);
}

// What became of a run, in one word: how its task stands or ended, or that there was none.
export function runWords({ state, outcome }) {
  if (state === "ran") return outcome ? stateWords(outcome) : t("run.running");
  return t(`run.${state}`);
}

function permissionPart(automation, { pages, actions }) {
  const { automation_id: id } = automation;
  const { authority } = pages;
  const held = authority.grants.ofTask(id).filter(({ state }) => HELD.has(state));
  if (automation.permission_mode === "read_only") return part("automation.permission", el("p", { class: "quiet" }, t("automation.reads_only")));
  return part(
    "automation.permission",
    held.length > 0 ? held.map((grant) => grantView(grant, actions)) : admissionCard(authority, id, { linkTask: false, subject: "automation" }),
  );
}

function facts({ mode, overlap, catchup_s: catchUp, engine, agent_id: agent, permission_mode: permission }, { profiles }) {
  const rows = [
    ["mode", choiceWords("mode", mode)],
    ["agent_id", agent !== "twin" && profiles.name(agent)],
    ["engine", engine !== "native" && engine],
    ["permission_mode", choiceWords("permission_mode", permission)],
    ["overlap", choiceWords("overlap", overlap)],
    ["catchup_s", catchUpWords(catchUp)],
  ];
  return el("dl", { class: "facts" }, rows.map(([key, value]) => value && el("div", {}, el("dt", {}, t(`automation.field.${key}`)), el("dd", {}, value))));
}

function runLine(run, showMessage) {
  const { nominal_time: when, state, reason, cause, count = 1, task_id: task, delivery, outcome } = run;
  return el(
    "li",
    { class: "run", data: { state } },
    el("p", { class: "line" }, timeTag(when, short), el("span", { class: `pill pill-${outcome ?? `run-${state}`}` }, runWords(run)), count > 1 && el("span", { class: "quiet" }, t("run.times", { n: number(count) }))),
    (reason || has(`run.cause.${cause}`)) && el("p", { class: "quiet" }, [reason && reasonOf(reason), has(`run.cause.${cause}`) && t(`run.cause.${cause}`)].filter(Boolean).join(" ")),
    (task || delivery) && el(
      "p",
      { class: "line" },
      task && el("a", { href: `#/automations/task/${task}`, data: { focus: `run:${when}` } }, t("approval.of_task"), icon("chevron")),
      delivery?.message_seq && el("button", { type: "button", class: "text-button", data: { focus: `run:${when}:message` }, on: { click: () => showMessage(delivery.message_seq) } }, t("task.show_message")),
      delivery && !delivery.message_seq && el("span", { class: "quiet" }, stateWords(delivery.state)),
    ),
  );
}

const reasonOf = (reason) => (has(`run.reason.${reason}`) ? t(`run.reason.${reason}`) : codeWords(reason));
const part = (key, ...content) => el("section", { class: "part" }, el("h4", {}, t(key)), content);
