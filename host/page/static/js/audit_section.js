// The audit list: every decision, newest first, with a filter (A14). What came from a ledger of an earlier version is
// marked, and dated as it was there (E19).

import { short, timeTag } from "./clock.js";
import { el } from "./dom.js";
import { codeWords, has, t } from "./i18n.js";
import { icon } from "./icons.js";
import { Section } from "./section.js";
import { listOf } from "./wire.js";
import { stateWords } from "./work.js";

const KINDS = ["all", "effect", "approval", "rule", "grant", "automation", "settings", "legacy"];
const ICONS = { effect: "edit", approval: "shield", rule: "check", grant: "shield", automation: "clock", settings: "sliders", legacy: "clip" };
const PAGE = 50;
const DIGEST_SHOWN = 16;
const PLACE = "#/settings/audit";
// Subjects that have a detail of their own, by the beginning of their ids.
const DETAILS = { effect_: "effect", approval_: "approval", task_: "task" };

export function auditSection({ connection }) {
  let decisions = [];
  let cursor = null;
  let kind = "all";
  let wanted = PAGE;

  // Reads as far as the person has gone, so that a notice takes nothing away from the screen.
  async function read() {
    const asked = kind;
    const rows = [];
    let next = null;
    do {
      const answer = await connection.call("agents.audit.list", { limit: PAGE, ...(asked !== "all" && { kind: asked }), ...(next && { cursor: next }) });
      rows.push(...listOf(answer));
      next = answer.next_cursor;
    } while (next && rows.length < wanted);
    if (asked === kind) [decisions, cursor] = [rows, next];
  }

  const choose = (value) => {
    [kind, wanted] = [value, PAGE];
    section.refresh();
  };
  const further = () => {
    wanted += PAGE;
    section.refresh();
  };

  const build = () => [
    el(
      "select",
      { class: "field filter", "aria-label": t("audit.filter"), data: { focus: "filter" }, on: { change: (event) => choose(event.target.value) } },
      KINDS.map((value) => el("option", { value, selected: value === kind }, t(value === "all" ? "audit.all" : `audit.kinds.${value}`))),
    ),
    decisions.length ? el("ol", { class: "audit", "aria-label": t("audit.list") }, decisions.map(decisionRow)) : el("p", { class: "quiet" }, t("audit.none")),
    cursor && el("button", { type: "button", class: "secondary-button", data: { focus: "more" }, on: { click: further } }, t("list.more")),
  ];

  const section = new Section(connection, { key: "audit", read, shape: () => [kind, decisions, cursor], build });
  return section;
}

function decisionRow(row) {
  const { details = {} } = row;
  const path = pathOf(row.subject_id) ?? pathOf(details.task_id) ?? pathOf(details.automation_id);
  return el(
    "li",
    { class: "decision", data: { sequence: row.sequence } },
    el("span", { class: "decision-icon" }, icon(ICONS[row.kind.split(".")[0]] ?? "shield")),
    el("span", { class: "decision-kind" }, path ? el("a", { href: path, data: { focus: `decision:${row.sequence}` } }, kindWords(row.kind)) : kindWords(row.kind)),
    el("span", { class: `pill verdict-${row.verdict}` }, verdictWords(row.verdict)),
    when(row),
    row.code && el("p", { class: "decision-why" }, codeWords(row.code)),
    el("p", { class: "decision-facts" }, facts(row).map((fact) => el("span", {}, fact))),
  );
}

function facts({ kind, principal, subject_id: subject, action_digest: digest, details = {}, imported }) {
  return [
    `${t("audit.who", { who: who(principal) })}`,
    imported && kind !== "legacy.import" && subject && [el("code", {}, subject)],
    details.grant_ref && [t("audit.grant"), " ", el("code", {}, details.grant_ref)],
    digest && [t("audit.digest"), " ", el("code", {}, digest.slice(0, DIGEST_SHOWN))],
  ].filter(Boolean);
}

// When it was decided; of an imported row that is what its ledger says, where that is a time at all.
function when({ at, imported, details = {} }) {
  const there = imported && details.at && !Number.isNaN(Date.parse(details.at)) ? details.at : null;
  const tag = timeTag(there ?? at, short);
  if (there) tag.title = t("audit.imported_at", { when: short(at) });
  return tag;
}

function who(principal) {
  if (principal.startsWith("model:")) return t("audit.who.model", { name: principal.slice("model:".length) });
  return has(`audit.who.${principal}`) ? t(`audit.who.${principal}`) : principal;
}

// A kind that this page has no words for is named by the group it belongs to.
function kindWords(kind) {
  const known = [kind, kind.split(".")[0]].find((name) => has(`audit.kind.${name}`));
  return known ? t(`audit.kind.${known}`) : kind;
}

const verdictWords = (verdict) => (has(`verdict.${verdict}`) ? t(`verdict.${verdict}`) : stateWords(verdict));

function pathOf(id) {
  if (id?.startsWith("automation_")) return `#/automations/${encodeURIComponent(id)}`;
  const begins = Object.keys(DETAILS).find((prefix) => id?.startsWith(prefix));
  return begins && `${PLACE}/${DETAILS[begins]}/${encodeURIComponent(id)}`;
}
