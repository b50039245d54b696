// The panel of the settings about agents (N2, N12): who there is beside twin, made, disabled and taken back here, since
// whose news is told is a question only once there is somebody.

import { el } from "./dom.js";
import { inputOf, labelled } from "./form_fields.js";
import { t } from "./i18n.js";
import { noteOf } from "./inline_form.js";
import { isLocalPage } from "./wire.js";

const KEY = "agents:new";
const FIELDS = ["name", "instructions"];

export function agentsPanel({ actions, profiles }) {
  return el(
    "section",
    { class: "panel", "aria-label": t("agents.title") },
    el("h4", {}, t("agents.title")),
    el("p", { class: "quiet" }, t("agents.note")),
    el("ul", { class: "agents" }, profiles.all.map((profile) => agentRow(profile, actions))),
    isLocalPage && (actions.isOpen(KEY) ? newForm(actions) : openButton(actions)),
  );
}

function agentRow({ agent_id: id, name, instructions, enabled, revision }, actions) {
  const key = `agents:${id}`;
  const works = enabled !== false;
  const params = { agent_id: id, expected_revision: revision };
  const press = () =>
    works
      ? actions.perform(key, "agents.profiles.disable", params, () => t("agents.disabled"))
      : actions.perform(key, "agents.profiles.update", { ...params, enabled: true }, () => t("agents.enabled"));
  const words = t(works ? "agents.disable" : "agents.enable");
  return el(
    "li",
    { class: "line", data: { agent: id } },
    el("div", { class: "agent-words" }, el("span", { class: "agent-name" }, name), !works && el("span", { class: "pill" }, t("agents.disabled")), instructions && el("p", { class: "quiet" }, instructions)),
    // Twin is the conversation's own: it stays.
    id !== "twin" && isLocalPage && el("button", { type: "button", class: "text-button", disabled: actions.isBusy(key), "aria-label": `${words}: ${name}`, data: { focus: `${key}:open` }, on: { click: press } }, words),
    noteOf(actions, key),
  );
}

const openButton = (actions) =>
  el("div", { class: "inline-form" }, el("button", { type: "button", class: "secondary-button", "aria-expanded": "false", data: { focus: `${KEY}:open` }, on: { click: () => actions.open(KEY, "agents-name") } }, t("agents.add")));

function newForm(actions) {
  const busy = actions.isBusy(KEY);
  const draft = (field) => actions.draft(`${KEY}:${field}`);
  const field = (name, tag, props) => labelled(`agents-${name}`, `agents.${name}`, inputOf(tag, `agents-${name}`, draft(name), (words) => actions.write(`${KEY}:${name}`, words), { disabled: busy, ...props }));
  const back = () => actions.close(KEY, `${KEY}:open`);
  const submit = async (event) => {
    event.preventDefault();
    const params = Object.fromEntries(FIELDS.map((name) => [name, draft(name).trim()]));
    await actions.perform(KEY, "agents.profiles.create", params, () => t("agents.added"));
    if (!actions.note(KEY)) for (const name of FIELDS) actions.write(`${KEY}:${name}`, "");
  };
  const escape = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    back();
  };
  return el(
    "form",
    { class: "inline-form open", "aria-label": t("agents.add"), on: { submit, keydown: escape } },
    field("name", "input", { type: "text", maxlength: 100, required: true, autocomplete: "off" }),
    field("instructions", "textarea", { rows: 3 }),
    el(
      "div",
      { class: "inline-actions" },
      el("button", { type: "submit", class: "primary-button", disabled: busy, data: { focus: `${KEY}:0` } }, t("agents.save")),
      el("button", { type: "button", class: "text-button", disabled: busy, data: { focus: `${KEY}:back` }, on: { click: back } }, t("form.back")),
    ),
    noteOf(actions, KEY),
  );
}
