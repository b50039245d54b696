// One of a few values, as a row of segments: radio buttons with a legend.

import { el } from "./dom.js";

// `options` are [value, words]. Each segment carries a name for the focus memory, so that it is found when built anew.
export function choice(name, label, chosen, options, choose, { disabled = false } = {}) {
  return el(
    "fieldset",
    { class: "choice", disabled },
    el("legend", {}, label),
    el(
      "div",
      { class: "segments" },
      options.map(([value, words]) =>
        el(
          "label",
          {},
          el("input", { type: "radio", name, value, id: `${name}-${value}`, checked: value === chosen, data: { focus: `${name}:${value}` }, on: { change: () => choose(value) } }),
          el("span", {}, words),
        ),
      ),
    ),
  );
}
