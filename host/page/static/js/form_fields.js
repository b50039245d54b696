// Parts of a form that several forms share: a field under its label, with what is said about it.

import { el } from "./dom.js";
import { t } from "./i18n.js";

export const labelled = (id, key, ...nodes) => el("div", { class: "labelled" }, el("label", { class: "field-label", for: id }, t(key)), nodes.filter(Boolean));

// A select of [value, words]; `choose(value)` is told of every choice.
export function selectOf(id, options, chosen, choose, props = {}) {
  const node = el("select", { class: "field", id, data: { focus: id }, ...props }, options.map(([value, label]) => el("option", { value, selected: value === chosen }, label)));
  node.addEventListener("change", () => choose(node.value));
  return node;
}

// A field that a person writes in; `write(words)` is told of every change.
export function inputOf(tag, id, value, write, props = {}) {
  const node = el(tag, { class: "field", id, data: { focus: id }, ...props });
  node.value = value;
  node.addEventListener("input", () => write(node.value));
  return node;
}
