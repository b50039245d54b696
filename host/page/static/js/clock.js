// Times in the person's zone and locale (Intl's default zone), with one shared slow tick that keeps relative times true.

import { el } from "./dom.js";
import { locale, t } from "./i18n.js";

const TICK_MS = 20_000;
const STEPS = [["second", 60], ["minute", 60], ["hour", 24], ["day", 7], ["week", Infinity]];

const format = (date, options) => new Intl.DateTimeFormat(locale(), options).format(date);

export const timeOfDay = (iso) => format(new Date(iso), { hour: "numeric", minute: "2-digit" });
export const full = (iso) => format(new Date(iso), { dateStyle: "full", timeStyle: "medium" });
export const short = (iso) => format(new Date(iso), { dateStyle: "medium", timeStyle: "short" });
// A time to come: its weekday says more than its year, which stands there where it is another one.
export function upcoming(iso) {
  const date = new Date(iso);
  const year = date.getFullYear() === new Date().getFullYear() ? undefined : "numeric";
  return format(date, { weekday: "short", day: "numeric", month: "short", year, hour: "numeric", minute: "2-digit" });
}

// What the clock shows then in another zone, with the weekday where that is another one too; null where all is the same
// there, or the browser does not know the zone.
export function elsewhere(iso, zone) {
  const told = (timeZone, weekday) => format(new Date(iso), { weekday, hour: "numeric", minute: "2-digit", timeZone });
  const day = (timeZone) => format(new Date(iso), { weekday: "short", timeZone });
  try {
    if (told(zone, "short") === told(undefined, "short")) return null;
    return told(zone, day(zone) === day(undefined) ? undefined : "short");
  } catch {
    return null;
  }
}

export const dayKey = (iso) => new Date(iso).toDateString();

export function dayLabel(iso) {
  const date = new Date(iso);
  const today = new Date();
  if (date.toDateString() === today.toDateString()) return t("day.today");
  today.setDate(today.getDate() - 1);
  if (date.toDateString() === today.toDateString()) return t("day.yesterday");
  const year = date.getFullYear() === new Date().getFullYear() ? undefined : "numeric";
  return format(date, { weekday: "long", day: "numeric", month: "long", year });
}

export function relative(iso) {
  let distance = (new Date(iso).getTime() - Date.now()) / 1000;
  const words = new Intl.RelativeTimeFormat(locale(), { numeric: "auto", style: "short" });
  if (Math.abs(distance) < 60) return words.format(0, "second");
  for (const [unit, size] of STEPS) {
    if (Math.abs(distance) < size || unit === "week") return words.format(Math.round(distance), unit);
    distance /= size;
  }
  return "";
}

export const timeTag = (iso, words = timeOfDay) => el("time", { datetime: iso, title: full(iso) }, words(iso));

// A time that is told relative to now; `key` is a sentence with {when} around it.
export function relativeTag(iso, key) {
  const node = el("time", { datetime: iso, title: full(iso), data: { relative: key ?? "" } });
  tell(node);
  return node;
}

function tell(node) {
  const when = relative(node.dateTime);
  node.textContent = node.dataset.relative ? t(node.dataset.relative, { when }) : when;
}

export function startTicking() {
  setInterval(() => document.querySelectorAll("time[data-relative]").forEach(tell), TICK_MS);
}
