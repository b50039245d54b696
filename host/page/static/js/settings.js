// Settings: this browser's theme and language, what the host reviews by itself, the lists of what was decided for
// longer than once, and what the host was configured with, read-only (P14).

import { choice } from "./choice.js";
import { el } from "./dom.js";
import { errorWords, language, onLanguage, setLanguage, t } from "./i18n.js";
import { theme } from "./theme.js";
import { isLocalPage } from "./wire.js";

const QUIET_MS = 200;
const byId = (id) => document.getElementById(id);

export class Settings {
  #host = null;
  #section = null;
  #refused = null;
  #timer = 0;

  // `sections`: {name: Section}, in the order of their links after the general one.
  constructor({ person, sections }) {
    Object.assign(this, { person, sections });
    onLanguage(() => this.#language());
    theme.onChange(() => this.#redraw());
    person.onChange(() => this.#redraw());
  }

  // Shows a section by name, or none for null.
  show(name) {
    const section = name === null || name in this.sections ? name : "general";
    const opens = section !== null && this.#section === null;
    const moves = section !== this.#section;
    this.#section = section;
    if (opens) this.#load();
    if (section && moves) this.#build();
    for (const [own, shown] of Object.entries(this.sections)) shown.show(own === section);
  }

  // Reads the open list again, once for several notices of one moment.
  refreshSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.sections[this.#section]?.refresh(), QUIET_MS);
  }

  async #load() {
    const answer = await fetch("/api/settings", { headers: { Accept: "application/json" } }).catch(() => null);
    if (answer?.ok) this.#host = { values: await answer.json() };
    else this.#host = { failure: answer?.status === 403 ? "settings.unavailable" : "settings.failed" };
    this.#redraw();
  }

  #language() {
    if (!this.#section) return;
    this.#build();
    this.sections[this.#section]?.redraw();
  }

  #redraw() {
    if (this.#section === "general") this.#build();
  }

  #build() {
    const focused = document.activeElement?.id;
    const name = this.#section;
    byId("settings").replaceChildren(
      el(
        "div",
        { class: "settings-page" },
        el("h2", { id: "settings-title" }, t("settings.title")),
        el("nav", { class: "sections", "aria-label": t("settings.sections") }, ["general", ...Object.keys(this.sections)].map((key) => sectionLink(key, name))),
        this.sections[name] ? this.sections[name].root : this.#general(),
      ),
    );
    if (focused) byId(focused)?.focus();
  }

  #general() {
    return [
      el(
        "section",
        { class: "panel" },
        el("h3", {}, t("settings.appearance")),
        choice("theme", t("settings.theme"), theme.chosen, [["system", t("settings.theme.system")], ["light", t("settings.theme.light")], ["dark", t("settings.theme.dark")]], (value) => theme.choose(value)),
        choice("language", t("settings.language"), language(), [["en", "English"], ["zh", "中文"]], setLanguage),
      ),
      this.#review(),
      el("section", { class: "panel" }, el("h3", {}, t("settings.host")), el("p", { class: "quiet" }, t("settings.host_note")), hostValues(this.#host)),
    ].filter(Boolean);
  }

  // Whether Steward may decide plain cases by itself (E8): the person's choice, kept for ever.
  #review() {
    const { values } = this.person;
    if (typeof values?.auto_review !== "boolean") return null;
    const choose = async (value) => {
      this.#refused = await this.person.update({ auto_review: value === "on" }).then(() => null, errorWords);
      this.#redraw();
    };
    return el(
      "section",
      { class: "panel" },
      el("h3", {}, t("settings.review")),
      el("p", { class: "quiet" }, t("settings.review_note")),
      choice("review", t("settings.review_choice"), values.auto_review ? "on" : "off", [["on", t("settings.review.on")], ["off", t("settings.review.off")]], choose, { disabled: !isLocalPage }),
      this.#refused && el("p", { class: "form-note", role: "alert" }, this.#refused),
    );
  }
}

const sectionLink = (key, shown) =>
  el("a", { href: key === "general" ? "#/settings" : `#/settings/${key}`, "aria-current": key === shown && "page", id: `section-${key}` }, t(`settings.${key}`));

function hostValues(host) {
  if (!host) return null;
  if (host.failure) return el("p", { class: "quiet" }, t(host.failure));
  return el("dl", { class: "facts wide" }, flatten(host.values).map(([name, value]) => el("div", {}, el("dt", {}, el("code", {}, name)), el("dd", {}, value))));
}

function flatten(values, prefix = "") {
  return Object.entries(values).flatMap(([name, value]) => {
    if (typeof value?.configured === "boolean") return [[prefix + name, t(value.configured ? "settings.set" : "settings.unset")]];
    if (value && typeof value === "object" && !Array.isArray(value)) return flatten(value, `${prefix}${name}.`);
    return [[prefix + name, wordsOf(value)]];
  });
}

function wordsOf(value) {
  if (value === null || value === "") return t("settings.unset");
  if (typeof value === "boolean") return t(`settings.${value}`);
  if (Array.isArray(value)) return value.length ? value.join(", ") : t("settings.unset");
  return String(value);
}
