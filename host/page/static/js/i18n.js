// Words and numbers in the chosen language. Language lives in <html lang>, so that screen readers follow it too.

import { STRINGS } from "./strings.js";

const listeners = new Set();

export const language = () => (document.documentElement.lang.startsWith("zh") ? "zh" : "en");

// The person's own region where it speaks the chosen language (en-GB, zh-TW), else the language's default.
export function locale() {
  const wanted = language();
  return navigator.languages.find((tag) => tag.toLowerCase().startsWith(wanted)) ?? (wanted === "zh" ? "zh-CN" : "en");
}

export function t(key, params = {}) {
  const entry = STRINGS[key];
  if (!entry) return key;
  return entry[language() === "zh" ? 1 : 0].replace(/\{(\w+)\}/g, (whole, name) => params[name] ?? whole);
}

// What the server says in several languages, in the chosen one; a server that knows only one is taken as it is.
export function said(thing, field) {
  const own = thing[field];
  const both = thing[`${field}_by_language`] ?? (typeof own === "object" ? own : null);
  return both?.[language()] ?? own;
}

export const has = (key) => key in STRINGS;

export const count = (key, n) => t(`${key}.${n === 1 ? "one" : "other"}`, { n: number(n) });

export const number = (n) => new Intl.NumberFormat(locale()).format(n);

export function bytes(n) {
  const units = ["byte", "kilobyte", "megabyte"];
  const power = n < 1000 ? 0 : n < 1024 * 1000 ? 1 : 2;
  const options = { style: "unit", unit: units[power], unitDisplay: power ? "short" : "long", maximumFractionDigits: power ? 1 : 0 };
  return new Intl.NumberFormat(locale(), options).format(n / 1024 ** power);
}

// An error in the page's words where its code is known, with the server's sentence where that says more.
export function errorWords(error) {
  const code = error.code ?? "unknown";
  return t(has(`error.${code}`) ? `error.${code}` : "error.unknown", { message: error.message });
}

// The same for what could not be read at all: a method that this host does not know is a service it does not offer.
export const failureWords = (error) => (error.code === "method_not_found" ? t("error.service_not_available") : errorWords(error));

// A reason or error code in words; an unknown code stays as it is.
export function codeWords(code) {
  const key = [`reason.${code}`, `error.${code}`].find(has);
  return key ? t(key) : code;
}

export function onLanguage(listener) {
  listeners.add(listener);
}

export function setLanguage(wanted) {
  document.documentElement.lang = wanted === "zh" ? "zh-CN" : "en";
  try {
    localStorage.setItem("steward.language", wanted);
  } catch {
    // Without storage the choice holds until the page is closed.
  }
  translate(document.body);
  for (const listener of listeners) listener();
}

const targets = { i18n: "textContent", i18nLabel: "ariaLabel", i18nPlaceholder: "placeholder" };

export function translate(root) {
  for (const [attribute, property] of Object.entries(targets)) {
    const selector = `[data-${attribute.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}]`;
    for (const node of root.querySelectorAll(selector)) {
      node[property] = t(node.dataset[attribute]);
      if (attribute === "i18nLabel" && node.tagName === "BUTTON") node.title = t(node.dataset[attribute]);
    }
  }
}
