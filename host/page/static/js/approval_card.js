// The card on which a person decides one exact action (E9). It always shows what the book holds now; a decision names
// the version and digest that were on screen when the button was pressed (E10).

import { announce } from "./announcer.js";
import { relativeTag } from "./clock.js";
import { detailsView } from "./approval_details.js";
import { el } from "./dom.js";
import { keepFocus } from "./focus.js";
import { codeWords, errorWords, t, said } from "./i18n.js";
import { icon } from "./icons.js";
import { ruleForm } from "./rule_form.js";
import { isLocalPage } from "./wire.js";

const KIND_ICONS = { file: "edit", command: "command", connector: "connector" };
const CONFLICTS = new Set(["approval_version_conflict", "action_digest_mismatch", "approval_invalidated", "approval_expired"]);

export function approvalCard(book, id, { linkTask = true } = {}) {
  const root = el("article", { class: "approval", "aria-busy": "true", data: { approval: id } });
  const note = el("p", { class: "approval-note", role: "status" });
  const preview = el("div", { class: "approval-preview" });
  let shape = "";
  let rule = null;
  let deciding = false;
  let wasShown = false;

  const decide = async (card, decision) => {
    deciding = true;
    note.textContent = t("approval.deciding");
    for (const button of root.querySelectorAll(".approval-actions button")) button.disabled = true;
    try {
      await book.decide(card, decision);
      note.textContent = "";
      announce(t(`approval.${book.card(id).state}`));
    } catch (error) {
      note.textContent = CONFLICTS.has(error.code) ? `${errorWords(error)} ${stillOpen(book.card(id)) ? t("approval.changed") : ""}` : errorWords(error);
    } finally {
      deciding = false;
      shape = "";
      if (root.isConnected) update();
      keepFocus(root);
    }
  };

  function update() {
    if (wasShown && !root.isConnected) return stop();
    wasShown ||= root.isConnected;
    const card = book.card(id);
    const now = JSON.stringify([document.documentElement.lang, card?.version, card?.state]);
    if (!card || deciding || now === shape) return undefined;
    shape = now;
    root.dataset.state = card.state;
    root.removeAttribute("aria-busy");
    // A command is read whole before it is allowed; what a file changes shows on demand, and is kept open.
    const isOpen = preview.childElementCount > 0;
    preview.replaceChildren();
    if (stillOpen(card) && (isOpen || card.kind === "command")) showDetails(card, { book, preview, note });
    if (!stillOpen(card) || !isLocalPage) rule = null;
    else rule ??= ruleForm(book.rules, card);
    root.replaceChildren(...parts(card, { decide, note, preview, book, linkTask, rule }));
    return undefined;
  }

  const stop = book.onChange(update);
  if (book.card(id)) update();
  else {
    book.read(id).catch((error) => {
      root.removeAttribute("aria-busy");
      root.replaceChildren(el("p", { class: "quiet" }, error.code === "not_found" ? t("approval.not_found") : errorWords(error)));
    });
  }
  return root;
}

const stillOpen = (card) => card?.state === "pending";

function parts(card, { decide, note, preview, book, linkTask, rule }) {
  const open = stillOpen(card);
  const kind = t(`approval.kind.${card.kind}`);
  const path = card.path ?? card.details?.path;
  return [
    el(
      "header",
      { class: "approval-head" },
      el("span", { class: "approval-icon" }, icon(open ? (KIND_ICONS[card.kind] ?? "shield") : card.state === "approved" ? "check" : "close")),
      el("span", { class: "approval-title" }, open ? t("approval.title") : t(`approval.${card.state}`)),
      el("span", { class: "approval-kind" }, kind, open && card.expires_at && [" · ", relativeTag(card.expires_at, "approval.expires")]),
    ),
    el("p", { class: "approval-words" }, said(card, "words")),
    path && el("p", { class: "approval-path" }, el("code", {}, path)),
    open && card.confined === false ? unconfined(card) : card.impact && el("p", { class: "approval-impact" }, said(card, "impact")),
    card.reason && el("p", { class: "approval-impact" }, codeWords(card.reason)),
    card.review?.reason && el("p", { class: "approval-impact approval-review" }, t(`approval.review_${card.review.verdict}`, { reason: card.review.reason })),
    open && card.kind !== "command" && detailsToggle(card, preview, note, book),
    preview,
    open && actions(card, decide),
    rule,
    !open && el("p", { class: "visually-hidden approval-state", tabindex: "-1" }, t(`approval.${card.state}`)),
    note,
    !open && card.effect_id && el("a", { class: "approval-task", href: `#/effect/${card.effect_id}` }, t("effect.trail"), icon("chevron")),
    linkTask && open && card.task_id && el("a", { class: "approval-task", href: `#/task/${card.task_id}` }, t("approval.of_task"), icon("chevron")),
  ].filter(Boolean);
}

function actions(card, decide) {
  const button = (decision, look, key) =>
    el("button", { type: "button", class: look, on: { click: () => decide(card, decision) } }, t(key));
  return el(
    "div",
    { class: "approval-actions" },
    card.confined === false ? button("allow_once", "danger-button", "approval.allow_unconfined") : button("allow_once", "primary-button", "approval.allow"),
    button("deny", "secondary-button", "approval.deny"),
  );
}

// Nothing may be overlooked here: what the command can reach stands in the warning itself (E16).
function unconfined(card) {
  return el(
    "div",
    { class: "unconfined" },
    icon("alert"),
    el("p", {}, el("strong", {}, t("approval.not_confined")), card.impact ? said(card, "impact") : t("approval.not_confined_words")),
  );
}

async function showDetails(card, { book, preview, note }) {
  try {
    const { details } = card.details ? card : await book.read(card.approval_id);
    if (stillOpen(book.card(card.approval_id))) preview.replaceChildren(detailsView(details));
  } catch (error) {
    note.textContent = errorWords(error);
  }
}

function detailsToggle(card, preview, note, book) {
  const isOpen = () => preview.childElementCount > 0;
  const button = el("button", { type: "button", class: "text-button approval-toggle" });
  const label = () => {
    button.setAttribute("aria-expanded", String(isOpen()));
    button.replaceChildren(icon("chevron"), t(isOpen() ? "approval.hide_changes" : "approval.changes"));
  };
  button.addEventListener("click", async () => {
    if (isOpen()) preview.replaceChildren();
    else await showDetails(card, { book, preview, note });
    label();
  });
  label();
  return button;
}
