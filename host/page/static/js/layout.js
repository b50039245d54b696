// Places: which view the middle shows, which detail the right column shows, and which pane a phone shows. All of it is
// in the address's fragment, so that the browser's back button works: #/, #/settings/rules, #/task/<id>, and a detail
// beside a settings section as #/settings/rules/task/<id>. Automations stand in the right column, the conversation
// beside them: #/automations, #/automations/<id>, #/automations/task/<id>. #/message/<seq> leads to a message.

import { icon } from "./icons.js";
import { language, setLanguage } from "./i18n.js";
import { theme } from "./theme.js";

const DETAILS = new Set(["task", "effect", "approval"]);
const VIEWS = new Set(["settings", "automations"]);
const FIRST_SECTION = "general";
const byId = (id) => document.getElementById(id);

export class Layout {
  // `onPlace({view, section, detail})` is told of every change of place, `onMessage(seq)` of a message to go to.
  constructor({ onPlace, onMessage }) {
    Object.assign(this, { onPlace, onMessage });
    addEventListener("hashchange", () => this.#go());
    for (const button of document.querySelectorAll(".phone-switch button")) {
      button.addEventListener("click", () => this.#switch(button.dataset.pane));
    }
    byId("decision-strip").addEventListener("click", () => this.#toDecisions());
    byId("language-toggle").addEventListener("click", () => setLanguage(language() === "zh" ? "en" : "zh"));
    const toggle = byId("theme-toggle");
    const paint = () => toggle.replaceChildren(icon(theme.isDark ? "sun" : "moon"));
    toggle.addEventListener("click", () => theme.choose(theme.isDark ? "light" : "dark"));
    theme.onChange(paint);
    paint();
  }

  start() {
    this.#go();
  }

  closeDetail() {
    const { view, section, detail } = this.#place();
    if (view === "automations") location.hash = detail.kind === "automations" ? "#/" : "#/automations";
    else location.hash = view !== "settings" ? "#/" : section === FIRST_SECTION ? "#/settings" : `#/settings/${section}`;
  }

  // Brings the conversation to a phone's front.
  showConversation() {
    if (this.#place().view === "settings") location.hash = "#/";
    this.#pane("conversation");
  }

  // Whether the conversation is what the middle shows, and on a phone what is in front.
  get showsConversation() {
    return byId("scroller").checkVisibility();
  }

  #place() {
    const segments = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decodeURIComponent);
    const view = VIEWS.has(segments[0]) ? segments.shift() : "twin";
    const section = view === "settings" && segments.length && !DETAILS.has(segments[0]) ? segments.shift() : FIRST_SECTION;
    const [kind, id] = segments;
    if (view === "twin" && kind === "message") return { view, section, detail: null, message: Number(id) || 0 };
    if (DETAILS.has(kind) && id) return { view, section, detail: { kind, id } };
    if (view !== "automations") return { view, section, detail: null };
    return { view, section, detail: kind ? { kind: "automation", id: kind } : { kind: "automations", id: "all" } };
  }

  #go() {
    const place = this.#place();
    if (place.message !== undefined) {
      // A place to go to, not one to be at: going back does not lead to it again.
      history.replaceState(null, "", "#/");
      this.#go();
      this.onMessage(place.message);
      return;
    }
    byId("settings").hidden = place.view !== "settings";
    byId("conversation").hidden = place.view === "settings";
    for (const item of document.querySelectorAll(".nav-item")) {
      if (item.dataset.view === place.view) item.setAttribute("aria-current", "page");
      else item.removeAttribute("aria-current");
    }
    if (place.detail) this.#pane("work", place.view === "automations" ? "automations" : "work");
    else if (place.view === "settings") this.#pane("settings");
    else this.#pane(byId("shell").dataset.pane === "settings" ? "conversation" : byId("shell").dataset.pane);
    this.onPlace(place);
  }

  #switch(pane) {
    const { view, detail } = this.#place();
    const goes = { settings: "#/settings", automations: "#/automations" }[pane];
    if (goes && location.hash !== goes) location.hash = goes;
    else if (goes) this.#pane(pane === "automations" ? "work" : pane, pane);
    else {
      // The column of work shows its bands again where it showed the automations.
      if ((pane === "conversation" && view === "settings") || (pane === "work" && detail && view === "automations")) location.hash = "#/";
      this.#pane(pane);
    }
  }

  // To the first thing that waits in the right column, else to the last one that stands in the conversation.
  #toDecisions() {
    if (document.querySelector(".work-cards > *")) {
      if (this.#place().detail) this.closeDetail();
      this.#pane("work");
      requestAnimationFrame(() => document.querySelector(".work-cards button, .work-cards textarea")?.focus());
      return;
    }
    const waiting = [...document.querySelectorAll("#messages :is(.question[data-state=open], .admission[data-state=asked], .approval[data-state=pending], .proposal[data-state=open])")].at(-1);
    waiting?.scrollIntoView({ block: "center" });
    waiting?.querySelector(".approval-actions button, .approval-actions textarea")?.focus({ preventScroll: true });
  }

  // `pressed` is the button of the switch that stands for it.
  #pane(name, pressed = name) {
    byId("shell").dataset.pane = name;
    for (const button of document.querySelectorAll(".phone-switch button")) {
      button.setAttribute("aria-pressed", String(button.dataset.pane === pressed));
    }
  }
}
