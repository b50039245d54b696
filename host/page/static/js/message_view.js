// One stored message as an element. Assistant text comes as HTML that the server sanitised; a person's text stays text.

import { approvalCard } from "./approval_card.js";
import { dayLabel, timeTag } from "./clock.js";
import { el, sanitised } from "./dom.js";
import { artifactSource, attachmentSource, fileChip } from "./files.js";
import { t } from "./i18n.js";
import { icon } from "./icons.js";
import { questionPlace } from "./question_card.js";

const DELIVERY_ICONS = { result: "check", failure: "alert", question: "question", authorization: "shield", notice: "chat" };

export function messageView(message, { book, questions, stored }) {
  const isUser = message.role === "user";
  return el(
    "li",
    { class: `message from-${message.role}`, id: `message-${message.seq}`, tabindex: "-1", data: { seq: message.seq, turn: message.turn_id ?? "" } },
    el("div", { class: "day", hidden: true }, el("span", {}, message.time ? dayLabel(message.time) : "")),
    el(
      "div",
      { class: "message-head" },
      el("span", { class: isUser ? "visually-hidden" : "message-author" }, t(`author.${message.role}`)),
      message.time && timeTag(message.time),
      el("span", { class: "message-note" }),
    ),
    message.delivery && deliveryHead(message.delivery),
    isUser || !message.html ? message.text && el("div", { class: "bubble plain" }, message.text) : prose(message.html),
    files(message, stored),
    message.interrupted && el("p", { class: "interrupted" }, icon("stop"), t("message.interrupted")),
    message.turn_state && el("p", { class: "interrupted" }, icon("stop"), t(`message.turn_${message.turn_state}`)),
    message.card && approvalCard(book, message.card),
    message.delivery?.kind === "question" && questionPlace(questions, message),
    !isUser && el("div", { class: "message-extra" }),
  );
}

function deliveryHead({ kind, task_id: taskId, automation_id: automationId }) {
  return el(
    "div",
    { class: `delivery delivery-${kind}` },
    el("span", { class: "delivery-icon" }, icon(DELIVERY_ICONS[kind] ?? "chat")),
    el("span", { class: "delivery-kind" }, t(`delivery.${kind}`)),
    taskId && el("a", { href: `#/task/${taskId}` }, t("delivery.open"), icon("chevron")),
    !taskId && automationId && el("a", { href: `#/automations/${automationId}` }, t("delivery.open_automation"), icon("chevron")),
  );
}

function prose(html) {
  const body = el("div", { class: "prose" });
  body.append(sanitised(html));
  for (const block of body.querySelectorAll("pre")) frameCode(block);
  for (const table of body.querySelectorAll("table")) {
    const frame = el("div", { class: "table-frame", role: "region", tabindex: "0", "aria-label": t("message.table") });
    table.replaceWith(frame);
    frame.append(table);
  }
  return body;
}

function frameCode(block) {
  const language = /language-(\S+)/.exec(block.querySelector("code")?.className ?? "")?.[1];
  const copy = el("button", { type: "button", class: "code-copy" }, icon("copy"), el("span", {}, t("copy")));
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.textContent);
    copy.lastChild.textContent = t("copied");
    setTimeout(() => (copy.lastChild.textContent = t("copy")), 2_000);
  });
  const frame = el("div", { class: "code-frame" }, el("div", { class: "code-head" }, el("span", {}, language ?? ""), copy));
  block.replaceWith(frame);
  block.tabIndex = 0;
  block.setAttribute("role", "region");
  block.setAttribute("aria-label", language ?? t("message.code"));
  frame.append(block);
}

function files(message, stored) {
  const chips = [
    ...(message.attachments ?? []).map((file) => fileChip(stored, attachmentSource(message.session_id, message.seq, file))),
    ...(message.blocks ?? []).map((block) => blockChip(block, message, stored)).filter(Boolean),
  ];
  return chips.length > 0 && el("div", { class: "files" }, chips);
}

function blockChip(block, message, stored) {
  const taskId = message.delivery?.task_id;
  if (block.artifact_id && taskId && block.sha256) return fileChip(stored, artifactSource(taskId, block));
  if (/^https?:\/\//i.test(block.uri ?? "")) {
    return el("a", { class: "file file-link", href: block.uri, target: "_blank", rel: "noopener noreferrer nofollow" }, icon("external"), block.name);
  }
  return el("div", { class: "file file-link" }, icon("file"), block.name);
}
