// A unified diff as coloured lines. The signs stay in the text, so that colour is never the only difference.

import { el } from "./dom.js";
import { t } from "./i18n.js";

const KINDS = [
  [/^(\+\+\+|---)( |$)/, "diff-file"],
  [/^@@/, "diff-hunk"],
  [/^\+/, "diff-added"],
  [/^-/, "diff-removed"],
];

export function diffView(diff) {
  const lines = diff.replace(/\n$/, "").split("\n");
  const rows = lines.map((line, index) => {
    const kinds = index < 2 ? KINDS : KINDS.slice(1);
    const kind = kinds.find(([pattern]) => pattern.test(line))?.[1] ?? "diff-same";
    return el("span", { class: `diff-line ${kind}` }, line || " ");
  });
  return el("div", { class: "diff", role: "region", tabindex: "0", "aria-label": t("approval.diff") }, el("code", {}, rows));
}
