// When a notification comes, in one sentence (N2, N3, N8): what the choices of the settings amount to.

import { locale, t } from "./i18n.js";

export function policyWords({ notifications, aggregation_s: window, quiet_hours: quiet }, profiles) {
  if (!notifications.enabled) return t("notify.words.off");
  const often = window ? t("notify.words.window", { window: windowWords(window) }) : t("notify.words.each");
  const silent = quiet.enabled ? t("notify.words.quiet", { start: quiet.start, end: quiet.end, zone: quiet.timezone }) : t("notify.words.end");
  const without = profiles.all.filter(({ agent_id: id }) => notifications.agents?.[id] === false).map(({ name }) => name);
  const names = new Intl.ListFormat(locale()).format(without);
  return [often + silent, without.length > 0 && t("notify.words.without", { names })].filter(Boolean).join(" ");
}

export function windowWords(seconds) {
  const [unit, n] = seconds % 60 === 0 ? ["minute", seconds / 60] : ["second", seconds];
  return new Intl.NumberFormat(locale(), { style: "unit", unit, unitDisplay: "long" }).format(n);
}
