// A button that opens a small form in its own place: words, perhaps a field, what can be done, and a way back.

import { el } from "./dom.js";
import { t } from "./i18n.js";

// `actions` keeps the form's state under `key`; `buttons` are [{label, look, act(words)}], `field` is {label, hint}, and
// `secret` where what is written in it is not to be seen.
export function inlineForm(actions, key, { label, look = "secondary-button", words = [], field = null, buttons }) {
  if (!actions.isOpen(key)) {
    const press = () => actions.open(key, field ? `${key}:field` : `${key}:back`);
    return el(
      "div",
      { class: "inline-form" },
      el("button", { type: "button", class: look, "aria-expanded": "false", data: { focus: `${key}:open` }, on: { click: press } }, label),
      noteOf(actions, key),
    );
  }
  const busy = actions.isBusy(key);
  const back = () => actions.close(key, `${key}:open`);
  const kind = field?.secret ? ["input", { type: "password", autocomplete: "off" }] : ["textarea", { rows: 2 }];
  const input = field && el(kind[0], { class: "field", ...kind[1], id: `${key}:field`, disabled: busy, data: { focus: `${key}:field` } });
  if (input) {
    input.value = actions.draft(key);
    input.addEventListener("input", () => actions.write(key, input.value));
  }
  const escape = (event) => {
    if (event.key !== "Escape") return;
    // The detail around it closes on Escape too; one press closes one thing.
    event.stopPropagation();
    back();
  };
  return el(
    "div",
    { class: "inline-form open", role: "group", "aria-label": label, on: { keydown: escape } },
    words.filter(Boolean).map((sentence) => el("p", {}, sentence)),
    field && el("label", { class: "field-label", for: `${key}:field` }, field.label),
    input,
    field?.hint && el("p", { class: "quiet" }, field.hint),
    el(
      "div",
      { class: "inline-actions" },
      buttons.map(({ label: name, look: style, act }, place) =>
        el("button", { type: "button", class: style, disabled: busy, data: { focus: `${key}:${place}` }, on: { click: () => act(input?.value.trim() ?? "") } }, name),
      ),
      el("button", { type: "button", class: "text-button", disabled: busy, data: { focus: `${key}:back` }, on: { click: back } }, t("form.back")),
    ),
    noteOf(actions, key),
  );
}

// Why the action was refused the last time.
export const noteOf = (actions, key) => actions.note(key) && el("p", { class: "form-note", role: "alert" }, actions.note(key));
