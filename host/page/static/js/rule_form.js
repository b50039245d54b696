// "Always handle like this" on a card (E7, E9): shows what a rule would cover, in words, before anything is saved, and
// leaves the present action waiting for its own decision.

import { announce } from "./announcer.js";
import { el } from "./dom.js";
import { errorWords, said, t } from "./i18n.js";

const MODES = ["allow", "ask"];
let lastName = 0;

export function ruleForm(rules, card) {
  const root = el("div", { class: "rule-form" });
  const name = `rule-mode-${++lastName}`;

  const show = (...content) => root.replaceChildren(...content.filter(Boolean));
  const button = (look, key, press, props = {}) => el("button", { type: "button", class: look, on: { click: press }, ...props }, t(key));

  function closed(note = null) {
    show(button("text-button", "rule.always", open, { "aria-expanded": "false" }), note && el("p", { class: "quiet", role: "status" }, note));
  }

  function back() {
    closed();
    root.querySelector("button").focus();
  }

  async function open() {
    show(el("p", { class: "quiet", role: "status" }, t("rule.reading")));
    try {
      edit(await rules.preview(card.approval_id), "allow");
    } catch (error) {
      closed(errorWords(error));
      root.querySelector("button").focus();
    }
  }

  function edit(preview, mode, note = null) {
    let chosen = mode;
    const save = button("primary-button", "rule.save", async () => {
      for (const control of root.querySelectorAll("button, input")) control.disabled = true;
      try {
        await rules.save(card.approval_id, preview, chosen);
        saved();
      } catch (error) {
        edit(preview, chosen, errorWords(error));
      }
    });
    const choice = (value) =>
      el(
        "label",
        {},
        el("input", { type: "radio", name, value, checked: value === mode, on: { change: () => (chosen = value) } }),
        el("span", {}, t(`rule.mode.${value}`)),
      );
    const form = el(
      "div",
      { class: "inline-form open", role: "group", "aria-label": t("rule.always"), on: { keydown: (event) => event.key === "Escape" && (event.stopPropagation(), back()) } },
      el("p", { class: "field-label" }, t("rule.scope")),
      el("p", { class: "rule-words" }, said(preview, "words")),
      el("fieldset", { class: "choice" }, el("legend", { class: "visually-hidden" }, t("rule.mode")), el("div", { class: "segments" }, MODES.map(choice))),
      el("p", { class: "quiet" }, t("rule.two_writes")),
      el("div", { class: "inline-actions" }, save, button("text-button", "form.back", back)),
      note && el("p", { class: "form-note", role: "alert" }, note),
    );
    show(form);
    form.querySelector("input:checked").focus();
  }

  function saved() {
    const done = el("p", { class: "quiet", tabindex: "-1" }, t("rule.saved"), " ", el("a", { href: "#/settings/rules" }, t("rule.all")));
    show(done);
    done.focus();
    announce(t("rule.saved"));
  }

  closed();
  return root;
}
