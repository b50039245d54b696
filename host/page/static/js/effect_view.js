// An effect with its whole trail: proposal, policy, decision, lease, claim, start, outcome (E20).

import { short, timeTag } from "./clock.js";
import { el } from "./dom.js";
import { codeWords, has, t, said } from "./i18n.js";
import { icon } from "./icons.js";
import { inlineForm } from "./inline_form.js";
import { isLocalPage } from "./wire.js";
import { stateWords } from "./work.js";

export const EFFECT_ICONS = { file: "edit", command: "command", connector: "connector" };

export function effectView(effect, { open = false, link = false, place = "#", actions = null } = {}) {
  const why = reasonOf(effect);
  const trail = (effect.trail ?? []).map((entry) =>
    el(
      "li",
      {},
      el("span", { class: "trail-step" }, has(`trail.${entry.step}`) ? t(`trail.${entry.step}`) : entry.step),
      el("span", { class: "trail-verdict" }, [wordsOf(entry.verdict), entry.code && codeWords(entry.code)].filter(Boolean).join(" · ")),
      timeTag(entry.at),
    ),
  );
  return el(
    "details",
    { class: "effect", open, data: { part: effect.effect_id } },
    el(
      "summary",
      {},
      el("span", { class: "effect-icon" }, icon(EFFECT_ICONS[effect.kind] ?? "shield")),
      el("span", { class: "effect-words" }, said(effect, "words"), why && el("span", { class: "effect-why" }, why)),
      el("span", { class: `pill pill-${effect.state}` }, stateWords(effect.state)),
    ),
    effect.state === "unknown" && el("p", { class: "approval-warning" }, icon("alert"), t("effect.unknown")),
    effect.state === "unknown" && actions && settlement(effect, actions),
    effect.review?.reason && el("p", { class: "effect-foot" }, t(`approval.review_${effect.review.verdict}`, { reason: effect.review.reason })),
    el("ol", { class: "trail", "aria-label": t("effect.trail") }, trail),
    el("p", { class: "effect-foot" }, t("task.created"), " ", timeTag(effect.created_at, short)),
    el("p", { class: "effect-foot" }, t("effect.digest"), " ", el("code", {}, effect.action_digest.slice(0, 16))),
    effect.approval_id && el("a", { class: "approval-task", href: `${place}/approval/${effect.approval_id}` }, t("effect.decision"), icon("chevron")),
    link && effect.task_id && el("a", { class: "approval-task", href: `${place}/task/${effect.task_id}` }, t("approval.of_task"), icon("chevron")),
  );
}

// Why it was refused, withdrawn or failed, in words: the reason, and what stood behind it where a decision lost its
// ground (a changed file, an expired permission).
export function reasonOf({ reason, trail = [] }) {
  if (!reason) return null;
  const behind = trail.findLast((entry) => entry.code && entry.code !== reason && entry.step !== "outcome");
  const deeper = reason === "approval_invalidated" && behind ? behind.code : null;
  return [reason, deeper].filter(Boolean).map(codeWords).join(" ");
}

// The person has looked, and says what became of it (E13).
function settlement({ effect_id: id }, actions) {
  if (!isLocalPage) return el("p", { class: "quiet" }, t("settle.local"));
  const key = `settle:${id}`;
  const settle = (outcome) => (note) => actions.perform(key, "agents.effects.settle", { effect_id: id, outcome, note }, () => t(`settle.${outcome}_done`));
  return inlineForm(actions, key, {
    label: t("settle.settle"),
    words: [t("settle.words")],
    field: { label: t("settle.note") },
    buttons: ["succeeded", "failed"].map((outcome) => ({ label: t(`settle.${outcome}`), look: "secondary-button", act: settle(outcome) })),
  });
}

const wordsOf = (verdict) => (has(`verdict.${verdict}`) ? t(`verdict.${verdict}`) : stateWords(verdict));
