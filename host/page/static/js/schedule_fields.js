// The fields of a schedule (U2) with the next times that it would mean, asked of the host as the person types. The
// element is made once and kept while its form is open, so that nothing typed is lost when the form around it is built
// anew.

import { elsewhere, timeTag, upcoming } from "./clock.js";
import { el } from "./dom.js";
import { labelled } from "./form_fields.js";
import { errorWords, has, language, said, t } from "./i18n.js";
import { CLOCK_PRESETS, emptyFields, fieldOfFault, fieldsOf, missingField, PRESETS, scheduleOf, UNITS, WEEKDAYS, zones } from "./schedule_presets.js";

const QUIET_MS = 250;
const SHOWN = 5;
let lastName = 0;

export class ScheduleFields {
  root = el("fieldset", { class: "schedule-fields" });
  #name = `schedule-${++lastName}`;
  #errors = new Map();
  #preview = el("div", { class: "schedule-preview" });
  #answer = null;
  #asking = 0;
  #timer = 0;
  #language = null;

  // `book` asks for previews; `schedule` is the one to begin with, or null.
  constructor(book, schedule = null) {
    this.book = book;
    this.fields = schedule ? fieldsOf(schedule) : emptyFields();
    this.view();
  }

  get schedule() {
    return scheduleOf(this.fields);
  }

  // The element, in the present language.
  view() {
    if (this.#language !== language()) {
      this.#language = language();
      this.#draw();
      this.#ask();
    }
    return this.root;
  }

  // Whether something needed is missing; that is then said at its field, and the focus goes there.
  tellMissing() {
    const name = this.#showMissing();
    if (name) this.root.querySelector(name === "weekdays" ? ".weekdays input" : `[data-field="${name}"]`).focus();
    return Boolean(name);
  }

  #showMissing() {
    const name = missingField(this.fields);
    if (name) this.#errors.get(name).textContent = t(`schedule.missing.${name}`);
    return name;
  }

  // Shows what the host refused at the field it is about; says whether it is about any of them.
  showFault(error) {
    const field = error.data?.field ?? "";
    if (!field.startsWith("schedule")) return false;
    const name = this.#place(fieldOfFault(field));
    const node = this.#errors.get(name);
    node.textContent = faultWords(error, fieldOfFault(field));
    this.root.querySelector(`[data-field="${name}"]`)?.setAttribute("aria-invalid", "true");
    return true;
  }

  #draw() {
    const { preset } = this.fields;
    this.#errors = new Map();
    const clock = CLOCK_PRESETS.includes(preset);
    const choice = this.#select("preset", "schedule.preset", PRESETS.map((name) => [name, t(`schedule.preset.${name}`)]), () => this.#draw());
    const parts = [
      el("legend", {}, t("schedule.when")),
      choice,
      preset === "weekly" && this.#weekdays(),
      preset === "monthly" && this.#input("day", "schedule.day", { type: "number", min: 1, max: 31 }),
      clock && this.#input("time", "schedule.time", { type: "time" }),
      preset === "interval" && this.#interval(),
      preset === "once" && this.#input("at", "schedule.at", { type: "datetime-local" }),
      preset === "cron" && this.#input("expression", "schedule.expression", { type: "text", spellcheck: "false", autocomplete: "off", class: "field cron" }, t("schedule.expression_hint")),
      preset !== "interval" && this.#select("zone", "schedule.zone", zones(this.fields.zone).map((zone) => [zone, zone])),
      this.#errorLine("schedule"),
      this.#preview,
    ];
    const focused = document.activeElement?.dataset?.field;
    this.root.replaceChildren(...parts.filter(Boolean));
    if (focused) this.root.querySelector(`[data-field="${focused}"]`)?.focus({ preventScroll: true });
    this.#showPreview();
  }

  // Where a fault shows: a preset has no field for everything that a schedule says.
  #place(name) {
    if (name === "cron") return this.fields.preset === "cron" ? "expression" : this.fields.preset === "weekly" ? "weekdays" : this.fields.preset === "monthly" ? "day" : "time";
    return this.#errors.has(name) ? name : "schedule";
  }

  #changed() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), QUIET_MS);
  }

  async #ask() {
    const asking = ++this.#asking;
    let answer = null;
    let fault = null;
    if (!missingField(this.fields)) {
      try {
        answer = await this.book.preview(this.schedule);
      } catch (error) {
        fault = error;
      }
    }
    if (asking !== this.#asking) return;
    this.#answer = answer;
    for (const line of this.#errors.values()) line.textContent = "";
    for (const node of this.root.querySelectorAll("[aria-invalid]")) node.removeAttribute("aria-invalid");
    this.#showPreview();
    this.#showMissing();
    if (answer?.next_times.length === 0) this.#errors.get(this.#place("at")).textContent = t("schedule.passed");
    if (fault && !this.showFault(fault)) this.#errors.get("schedule").textContent = errorWords(fault);
  }

  #showPreview() {
    const { next_times: times = [], schedule = {} } = this.#answer ?? {};
    this.#preview.hidden = !this.#answer;
    this.#preview.replaceChildren(
      el("p", { class: "schedule-words", role: "status" }, this.#answer ? said(this.#answer, "words") : ""),
      timesList(times.slice(0, SHOWN), schedule.timezone),
    );
  }

  #select(name, key, options, then = () => null) {
    const id = `${this.#name}-${name}`;
    const node = el(
      "select",
      { class: "field", id, "aria-describedby": `${id}-error`, data: { field: name, focus: id } },
      options.map(([value, label]) => el("option", { value, selected: value === this.fields[name] }, label)),
    );
    node.addEventListener("change", () => {
      this.fields[name] = node.value;
      then();
      this.#changed();
    });
    return labelled(id, key, node, this.#errorLine(name));
  }

  #input(name, key, props, hint = null) {
    const id = `${this.#name}-${name}`;
    const node = el("input", { class: "field", id, "aria-describedby": `${id}-error`, data: { field: name, focus: id }, ...props });
    node.value = this.fields[name];
    node.addEventListener("input", () => {
      this.fields[name] = node.value;
      this.#changed();
    });
    return labelled(id, key, node, hint && el("p", { class: "quiet" }, hint), this.#errorLine(name));
  }

  #interval() {
    const amount = this.#input("amount", "schedule.every", { type: "number", min: 1 });
    const unit = this.#select("unit", "schedule.unit", UNITS.map(([name]) => [name, t(`schedule.unit.${name}`)]));
    return el("div", { class: "field-pair" }, amount, unit);
  }

  #weekdays() {
    // A week that is known: 2 January 2000 was a Sunday.
    const name = (day, style) => new Intl.DateTimeFormat(document.documentElement.lang, { weekday: style, timeZone: "UTC" }).format(new Date(Date.UTC(2000, 0, 2 + day)));
    const toggle = (day, on) => {
      this.fields.weekdays = WEEKDAYS.filter((other) => (other === day ? on : this.fields.weekdays.includes(other)));
      this.#changed();
    };
    return el(
      "fieldset",
      { class: "weekdays", "aria-describedby": `${this.#name}-weekdays-error` },
      el("legend", {}, t("schedule.weekdays")),
      el(
        "div",
        { class: "segments" },
        WEEKDAYS.map((day) =>
          el(
            "label",
            { title: name(day, "long") },
            el("input", { type: "checkbox", "aria-label": name(day, "long"), checked: this.fields.weekdays.includes(day), data: { field: `weekday-${day}`, focus: `${this.#name}-weekday-${day}` }, on: { change: (event) => toggle(day, event.target.checked) } }),
            el("span", { "aria-hidden": "true" }, name(day, "short")),
          ),
        ),
      ),
      this.#errorLine("weekdays"),
    );
  }

  #errorLine(name) {
    const line = el("p", { class: "form-note", id: `${this.#name}-${name}-error`, role: "alert" });
    this.#errors.set(name, line);
    return line;
  }
}

// Next times in the person's own zone, and what the clock shows in the schedule's where that is another.
export function timesList(times, zone) {
  return el(
    "ol",
    { class: "next-times" },
    times.map((iso) => {
      const there = zone && elsewhere(iso, zone);
      return el("li", {}, timeTag(iso, upcoming), there && el("span", { class: "quiet" }, " ", t("schedule.there", { when: there })));
    }),
  );
}

// What the host says of a schedule, in its own words where the page speaks its language.
function faultWords(error, field) {
  const key = `schedule.fault.${field}`;
  if (language() !== "en" && has(key)) return t(key);
  const said = error.message.replace(/^schedule[\w.]*:\s*/, "");
  return said.charAt(0).toUpperCase() + said.slice(1);
}
