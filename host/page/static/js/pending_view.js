// A message on its way out: sending, waiting for the connection, or refused with the reason and what can be done.

import { el } from "./dom.js";
import { errorWords, t } from "./i18n.js";
import { icon } from "./icons.js";

// `entry` is an outbox entry with `online` added.
export function pendingView(entry, { onEdit, onDiscard }) {
  const failed = entry.state === "failed";
  const note = failed
    ? t("message.not_sent", { reason: errorWords(entry) })
    : t(entry.online || entry.state === "sent" ? "message.sending" : "message.waiting_link");
  const button = (key, act) => el("button", { type: "button", class: "text-button", on: { click: act } }, t(key));
  return el(
    "div",
    { class: `message from-user pending ${failed ? "failed" : ""}` },
    entry.text && el("div", { class: "bubble plain" }, entry.text),
    entry.attachments.length > 0 && el("p", { class: "pending-files" }, icon("clip"), entry.attachments.map((file) => file.name).join(", ")),
    el("p", { class: "pending-note", role: failed ? "alert" : null }, note),
    failed && el("p", { class: "pending-actions" }, button("message.edit", onEdit), button("message.discard", onDiscard)),
  );
}
