// A schedule that the assistant proposes (U9): what, when in words, the next times, and one button that makes it real.
// Confirmed or closed, the card changes in its place.

import { announce } from "./announcer.js";
import { el } from "./dom.js";
import { focusMemory, keepFocus } from "./focus.js";
import { errorWords, said, t } from "./i18n.js";
import { icon } from "./icons.js";
import { timesList } from "./schedule_fields.js";
import { isLocalPage } from "./wire.js";

const SHOWN = 3;

// `link`: whether the automation that it is about is named by a link.
export function proposalCard(automations, id, { link = true } = {}) {
  const root = el("article", { class: "approval proposal", data: { proposal: id } });
  const note = el("p", { class: "approval-note", role: "status" });
  let shape = "";
  let busy = false;
  let wasShown = false;
  let nextFocus = null;

  const doing = {
    async confirm(proposal) {
      if (busy) return;
      busy = true;
      note.textContent = t("proposal.saving");
      for (const control of root.querySelectorAll("button")) control.disabled = true;
      try {
        await automations.confirm(proposal);
        note.textContent = "";
        nextFocus = "state";
        announce(t("proposal.confirmed"));
      } catch (error) {
        nextFocus = "confirm";
        note.textContent = errorWords(error);
      } finally {
        busy = false;
        shape = "";
        if (root.isConnected) update();
        else keepFocus(root);
      }
    },
    putAway(proposal, away) {
      nextFocus = away ? "again" : "confirm";
      automations.putAway(proposal, away);
    },
  };

  function update() {
    if (wasShown && !root.isConnected) return stop();
    wasShown ||= root.isConnected;
    if (busy) return undefined;
    const now = standing(automations, id);
    const next = JSON.stringify([document.documentElement.lang, now]);
    if (next === shape) return undefined;
    if (shape !== "") note.textContent = "";
    shape = next;
    const restoreFocus = focusMemory(root);
    root.dataset.state = now.state;
    root.classList.toggle("admission-line", now.state !== "open");
    root.replaceChildren(...parts(now, { doing, note, link }).flat().filter(Boolean));
    restoreFocus({ wanted: nextFocus, fallback: root.querySelector("[data-focus]") ?? document.getElementById("composer-text") });
    nextFocus = null;
    return undefined;
  }

  const stop = automations.onChange(update);
  update();
  return root;
}

function standing(automations, id) {
  const proposal = automations.known.find((candidate) => candidate.proposal_id === id);
  const settled = automations.settled(id);
  if (!proposal) return { state: "closed", settled: {} };
  if (settled) return { ...settled, proposal, automation: automations.automation(settled.automation_id ?? proposal.automation_id) };
  const moved = automations.automation(proposal.automation_id);
  return { state: automations.putOff.has(id) ? "put_off" : "open", proposal, before: moved && { words: said(moved, "words"), times: moved.next_times ?? [], zone: moved.schedule?.timezone } };
}

function parts(now, { doing, note, link }) {
  const { proposal } = now;
  if (now.state === "confirmed" || now.state === "closed") {
    const where = now.automation_id ?? now.automation?.automation_id;
    return [
      line(now.state === "confirmed" ? "check" : "clock", el("span", { tabindex: "-1", data: { focus: "state" } }, t(`proposal.${now.state}`), proposal && ` · ${proposal.title}`)),
      link && where && el("a", { class: "approval-task", href: `#/automations/${where}`, data: { focus: "automation" } }, t("delivery.open_automation"), icon("chevron")),
      note,
    ];
  }
  if (now.state === "put_off") return [line("clock", `${t("proposal.put_off")} · ${proposal.title}`), button("secondary-button", "again", "admission.look_again", () => doing.putAway(proposal, false)), note];
  const moves = proposal.kind === "reschedule";
  return [
    el(
      "header",
      { class: "approval-head" },
      el("span", { class: "approval-icon" }, icon("clock")),
      el("span", { class: "approval-title" }, t(moves ? "proposal.move" : "proposal.title")),
      el("span", { class: "approval-kind" }, proposal.title),
    ),
    !moves && proposal.instructions && el("p", { class: "proposal-what plain" }, proposal.instructions),
    moves && now.before && times("proposal.before", now.before.words, now.before.times, now.before.zone),
    times(moves ? "proposal.after" : "proposal.when", said(proposal, "words"), proposal.next_times ?? [], proposal.schedule?.timezone),
    proposal.mode === "continue" && el("p", { class: "quiet" }, t("automation.mode.continue")),
    el("p", { class: "quiet" }, t(isLocalPage ? "proposal.foot" : "proposal.local")),
    el(
      "div",
      { class: "approval-actions" },
      isLocalPage && button("primary-button", "confirm", "proposal.confirm", () => doing.confirm(proposal)),
      button("secondary-button", "later", "admission.later", () => doing.putAway(proposal, true)),
    ),
    note,
    link && moves && el("a", { class: "approval-task", href: `#/automations/${proposal.automation_id}`, data: { focus: "automation" } }, t("delivery.open_automation"), icon("chevron")),
  ];
}

function times(key, words, next, zone) {
  return el("div", { class: "proposal-times" }, el("p", { class: "proposal-label" }, t(key)), el("p", { class: "approval-words schedule-words" }, words), timesList(next.slice(0, SHOWN), zone));
}

const line = (mark, ...words) => el("p", { class: "admission-words" }, icon(mark), el("span", {}, words));
const button = (look, focus, key, press) => el("button", { type: "button", class: look, data: { focus }, on: { click: press } }, t(key));
