// The card on which a person answers a task's question (T7, T9): one of its options, words of one's own, or nothing.
// What was typed is kept by the book, so that both places of the card and every redraw show it.

import { announce } from "./announcer.js";
import { el } from "./dom.js";
import { keepFocus } from "./focus.js";
import { errorWords, t } from "./i18n.js";
import { icon } from "./icons.js";

const CONFLICTS = new Set(["question_closed", "revision_conflict"]);

export function questionCard(book, id, { linkTask = true } = {}) {
  const root = el("article", { class: "approval question", data: { question: id } });
  const note = el("p", { class: "approval-note", role: "status" });
  let shape = "";
  let sending = false;
  let wasShown = false;

  const settle = async (act) => {
    if (sending) return;
    sending = true;
    note.textContent = t("question.sending");
    for (const control of root.querySelectorAll(".approval-actions button, .approval-actions textarea")) control.disabled = true;
    try {
      await act();
      note.textContent = "";
      announce(t(`question.${book.question(id).state}`));
    } catch (error) {
      const changed = CONFLICTS.has(error.code) && book.question(id).state === "open";
      note.textContent = `${errorWords(error)} ${changed ? t("question.changed") : ""}`;
    } finally {
      sending = false;
      shape = "";
      if (root.isConnected) update();
      keepFocus(root);
    }
  };

  function update() {
    if (wasShown && !root.isConnected) return stop();
    wasShown ||= root.isConnected;
    const question = book.question(id);
    const now = JSON.stringify([document.documentElement.lang, question]);
    if (!question || sending || now === shape) return undefined;
    shape = now;
    root.dataset.state = question.state;
    root.replaceChildren(...parts(question, { book, note, settle, linkTask }));
    return undefined;
  }

  const stop = book.onChange(update);
  update();
  return root;
}

// The place under a message that tells a question: its card, as soon as the question is known.
export function questionPlace(book, message) {
  const root = el("div", { class: "question-place" });
  let wasShown = false;
  function update() {
    if (wasShown && !root.isConnected) return stop();
    wasShown ||= root.isConnected;
    const question = root.childElementCount === 0 && book.ofMessage(message);
    if (question) root.replaceChildren(questionCard(book, question.question_id, { linkTask: false }));
    return undefined;
  }
  const stop = book.onChange(update);
  update();
  return root;
}

function parts(question, { book, note, settle, linkTask }) {
  const open = question.state === "open";
  const { question_id: id, text, answer, task_id: taskId } = question;
  const title = t(open ? "question.title" : `question.${question.state}`);
  return [
    el(
      "header",
      { class: "approval-head" },
      el("span", { class: "approval-icon" }, icon(open ? "question" : question.state === "answered" ? "check" : "close")),
      el("span", { class: "approval-title" }, title),
      el("span", { class: "approval-kind" }, t("question.of_a_task")),
    ),
    el("p", { class: "approval-words plain" }, text),
    answer !== undefined && el("p", { class: "question-answer" }, el("span", { class: "quiet" }, t("question.answer_was")), " ", answer),
    open && actions(question, { book, settle, label: text }),
    !open && el("p", { class: "visually-hidden approval-state", tabindex: "-1" }, title),
    note,
    linkTask && open && el("a", { class: "approval-task", href: `#/task/${taskId}`, data: { focus: `question:${id}:task` } }, t("approval.of_task"), icon("chevron")),
  ].filter(Boolean);
}

function actions(question, { book, settle, label }) {
  const { question_id: id, options, allow_text: allowsText } = question;
  const choices = options.map((option) =>
    el(
      "button",
      { type: "button", class: "secondary-button", data: { focus: `question:${id}:${option.id}` }, on: { click: () => settle(() => book.answer(question, { option_id: option.id })) } },
      option.label,
    ),
  );
  const leave = el(
    "button",
    { type: "button", class: "text-button", data: { focus: `question:${id}:cancel` }, on: { click: () => settle(() => book.cancel(question)) } },
    t("question.cancel"),
  );
  return el(
    "div",
    { class: "approval-actions question-actions", role: "group", "aria-label": label },
    choices.length > 0 && el("div", { class: "question-options" }, choices),
    allowsText && ownWords(question, { book, settle, besides: choices.length > 0 }),
    leave,
  );
}

function ownWords(question, { book, settle, besides }) {
  const { question_id: id } = question;
  const label = t(besides ? "question.or_text" : "question.text");
  const field = el("textarea", { class: "field", rows: 1, enterkeyhint: "send", "aria-label": label, placeholder: label, data: { focus: `question:${id}:text` } });
  const send = el("button", { type: "submit", class: "primary-button" }, t("question.send"));
  const ready = () => (send.disabled = field.value.trim() === "");
  const submit = () => field.value.trim() && settle(() => book.answer(question, { text: field.value.trim() }));
  field.value = book.drafts.get(id) ?? "";
  field.addEventListener("input", () => {
    book.drafts.set(id, field.value);
    ready();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  });
  ready();
  const form = el("form", { class: "question-text", novalidate: true }, field, send);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  return form;
}
