// What an automation does, and when, as a form: all of it for a new one, only what it does for one that is there. Its
// element and what was typed stay while the form is open, however often the detail around it is built anew.

import { el } from "./dom.js";
import { inputOf, labelled, selectOf } from "./form_fields.js";
import { has, language, t } from "./i18n.js";
import { ScheduleFields } from "./schedule_fields.js";

const HOUR_S = 3600;
const CATCH_UPS = [0, HOUR_S, 6 * HOUR_S, 24 * HOUR_S, 7 * 24 * HOUR_S, 30 * 24 * HOUR_S];
const CHOICES = { mode: ["new", "continue"], permission_mode: ["standard", "read_only"], overlap: ["skip", "buffer_one", "allow"] };
const NEEDED = ["title", "instructions"];
const DEFAULTS = { title: "", instructions: "", agent_id: "twin", mode: "new", permission_mode: "standard", overlap: "skip", catchup_s: HOUR_S };
let lastName = 0;

export class AutomationForm {
  root = el("div", { class: "automation-form" });
  #name = `automation-form-${++lastName}`;
  #faults = {};
  #language = null;

  // `automation` is the one to change, or null for a new one; `profiles` are the agents that can do it.
  constructor({ book, automation = null, profiles = [] }) {
    this.before = automation;
    this.profiles = profiles;
    const now = automation ?? DEFAULTS;
    this.values = Object.fromEntries(Object.keys(DEFAULTS).map((key) => [key, now[key] ?? DEFAULTS[key]]));
    this.schedule = automation ? null : new ScheduleFields(book);
    this.view();
  }

  view() {
    if (this.#language !== language()) this.#draw();
    return this.root;
  }

  // What is to be written, or null where something needed is missing; that is then said beside its field.
  take() {
    this.#faults = Object.fromEntries(NEEDED.filter((key) => !this.values[key].trim()).map((key) => [key, t(`automation.needed.${key}`)]));
    this.#draw();
    const first = Object.keys(this.#faults)[0];
    const missing = this.schedule?.tellMissing();
    if (first) this.root.querySelector(`#${this.#name}-${first}`).focus();
    return first || missing ? null : { ...this.values };
  }

  // Only what differs from the automation as it was shown.
  get changes() {
    return Object.fromEntries(Object.entries(this.values).filter(([key, value]) => value !== (this.before[key] ?? DEFAULTS[key])));
  }

  // Shows a refusal at the field it is about; says whether it is about any.
  showFault(error) {
    if (this.schedule?.showFault(error)) return true;
    const field = error.data?.field === "text" ? "instructions" : error.data?.field;
    if (!NEEDED.includes(field)) return false;
    this.#faults = { [field]: error.message };
    this.#draw();
    return true;
  }

  #draw() {
    this.#language = language();
    const { agent_id: agent } = this.values;
    const agents = this.profiles.map((profile) => [profile.agent_id, profile.name]);
    const more = this.root.querySelector("details")?.open ?? false;
    const kept = document.activeElement?.id;
    this.root.replaceChildren(
      ...[
        this.#written("input", "title", { type: "text", maxlength: 200, autocomplete: "off" }),
        this.#written("textarea", "instructions", { rows: 4 }, t("automation.instructions_hint")),
        this.schedule?.view(),
        el(
          "details",
          { class: "earlier", open: more, data: { part: "more" } },
          el("summary", {}, t("automation.more")),
          agents.length > 1 && this.#chosen("agent_id", agents.some(([id]) => id === agent) ? agents : [[agent, agent], ...agents]),
          Object.entries(CHOICES).map(([key, values]) => this.#chosen(key, values.map((value) => [value, choiceWords(key, value)]))),
          this.#chosen("catchup_s", catchUps(this.values.catchup_s), Number),
        ),
      ].filter(Boolean),
    );
    if (kept?.startsWith(this.#name)) this.root.querySelector(`#${kept}`)?.focus({ preventScroll: true });
  }

  #written(tag, key, props, hint = null) {
    const id = `${this.#name}-${key}`;
    const fault = this.#faults[key];
    const node = inputOf(tag, id, this.values[key], (words) => (this.values[key] = words), { ...props, "aria-invalid": fault && "true", "aria-describedby": `${id}-error`, "aria-required": "true" });
    return labelled(id, `automation.field.${key}`, node, hint && el("p", { class: "quiet" }, hint), el("p", { class: "form-note", id: `${id}-error`, role: "alert" }, fault));
  }

  #chosen(key, options, read = String) {
    const id = `${this.#name}-${key}`;
    return labelled(id, `automation.field.${key}`, selectOf(id, options.map(([value, words]) => [String(value), words]), String(this.values[key]), (value) => (this.values[key] = read(value))));
  }
}

// A value of one of the choices, in words; one that this page does not know stays as it is.
export function choiceWords(key, value) {
  return has(`automation.${key}.${value}`) ? t(`automation.${key}.${value}`) : String(value);
}

// How late a missed run may be made up for (U4).
export function catchUpWords(seconds) {
  if (seconds === 0) return t("automation.catchup.none");
  const [unit, size] = seconds % 86_400 === 0 ? ["day", 86_400] : seconds % HOUR_S === 0 ? ["hour", HOUR_S] : ["minute", 60];
  return new Intl.NumberFormat(language(), { style: "unit", unit, unitDisplay: "long" }).format(Math.round(seconds / size));
}

const catchUps = (present) => [...new Set([...CATCH_UPS, present])].sort((one, other) => one - other).map((seconds) => [seconds, catchUpWords(seconds)]);
