// One permission that was given: what it allows, to whom, until when, and taking it back (A9).

import { short, timeTag } from "./clock.js";
import { el } from "./dom.js";
import { said, t } from "./i18n.js";
import { icon } from "./icons.js";
import { inlineForm } from "./inline_form.js";
import { isLocalPage } from "./wire.js";

const HELD = new Set(["active", "unbound"]);

// `holder` is the link to who holds it, where that is not plain from the place.
export function grantView(grant, actions, holder = null) {
  const { state } = grant;
  return el(
    "div",
    { class: "grant", data: { grant: grant.grant_ref } },
    el("p", { class: "grant-head" }, el("span", { class: "grant-words" }, said(grant, "words")), el("span", { class: `pill pill-grant-${state}` }, t(`grant.${state}`))),
    holder && el("p", { class: "line" }, holder),
    el("p", { class: "quiet" }, times(grant)),
    grant.parent_grant_ref && el("p", { class: "quiet" }, t("grant.derived")),
    HELD.has(state) && (isLocalPage ? revokeForm(grant, actions) : el("p", { class: "quiet" }, t("grant.local"))),
  );
}

function times({ state, issued_at: issued, expires_at: expires, revoked_at: revoked }) {
  const given = [t("grant.given"), " ", timeTag(issued, short), " · "];
  if (state === "revoked") return [...given, t("grant.taken_back"), " ", timeTag(revoked, short)];
  return [...given, t(state === "expired" ? "grant.ended" : "grant.until"), " ", timeTag(expires, short)];
}

function revokeForm({ grant_ref: ref }, actions) {
  const key = `revoke:${ref}`;
  const revoke = () => actions.perform(key, "agents.grants.revoke", { grant_ref: ref }, () => t("grant.revoke_done"));
  return inlineForm(actions, key, {
    label: t("grant.revoke"),
    words: [t("grant.revoke_words")],
    buttons: [{ label: t("grant.revoke_yes"), look: "danger-button", act: revoke }],
  });
}

// Who holds it: a task, an automation, or nobody yet. `task` gives the title of one that is known; `place` is put before
// the link, so that the middle stays what it is.
export function holderLink({ holder = {} }, task, place = "#") {
  if (!holder.task_id && holder.automation_id) return el("a", { href: `#/automations/${holder.automation_id}` }, t("grant.of_automation"), icon("chevron"));
  if (!holder.task_id) return el("span", { class: "quiet" }, t("grant.of_nobody"));
  return el("a", { href: `${place}/task/${holder.task_id}` }, task(holder.task_id)?.title ?? t("approval.of_task"), icon("chevron"));
}
