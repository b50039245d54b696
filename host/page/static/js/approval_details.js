// The exact action of a card (E9): a file's diff, the whole of a command, an account and what it is used for.

import { diffView } from "./diff_view.js";
import { el } from "./dom.js";
import { has, t } from "./i18n.js";

const FACT = /^(folder|program|SHA-256|confined|network|environment): (.*)$/;
const INPUT = "| ";

export function detailsView(details) {
  if (details?.diff) return diffView(details.diff);
  if (details?.command) return commandView(details.command);
  if (details?.connector) return connectorView(details.connector);
  return el("p", { class: "quiet" }, t("approval.no_preview"));
}

// The host writes a command as lines: the command itself, then one fact on each, then what it is given to read. Every
// character that could hide is spelled out there, so no argument can write a line of its own.
function commandView(command) {
  if (typeof command !== "string") return connectorView(command);
  const [whole, ...rest] = command.split("\n");
  const facts = rest.map((line) => FACT.exec(line)).filter(Boolean);
  const input = rest.filter((line) => line.startsWith(INPUT)).map((line) => line.slice(INPUT.length));
  return el(
    "div",
    { class: "whole-command" },
    region(t("approval.whole_command"), whole),
    facts.length > 0 && el("dl", { class: "facts" }, facts.map(([, name, value]) => fact(t(`command.${name}`), shownValue(name, value)))),
    input.length > 0 && el("p", { class: "quiet" }, t("command.input")),
    input.length > 0 && region(t("command.input"), input.join("\n")),
  );
}

function shownValue(name, value) {
  if (name === "folder" && value === ".") return t("command.own_folder");
  const key = `command.${name}.${value}`;
  return has(key) ? t(key) : el("code", {}, value);
}

function connectorView(connector) {
  if (typeof connector === "string") return region(t("approval.diff"), connector);
  const values = Object.entries(connector).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value, null, 2)]);
  return el("dl", { class: "facts" }, values.map(([name, value]) => fact(has(`connector.${name}`) ? t(`connector.${name}`) : name, el("code", {}, value))));
}

const fact = (name, value) => el("div", {}, el("dt", {}, name), el("dd", {}, value));

const region = (label, text) => el("div", { class: "diff whole", tabindex: "0", role: "region", "aria-label": label }, el("code", {}, text));
