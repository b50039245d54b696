// The sections of the settings that list what was decided for longer than once: permissions, rules; and every effect
// with its whole trail (A9, E6, E20).

import { admissionCard } from "./admission_card.js";
import { short, timeTag } from "./clock.js";
import { el } from "./dom.js";
import { EFFECT_ICONS, effectView } from "./effect_view.js";
import { grantView, holderLink } from "./grant_view.js";
import { said, t } from "./i18n.js";
import { icon } from "./icons.js";
import { inlineForm, noteOf } from "./inline_form.js";
import { Section } from "./section.js";
import { isLocalPage, listOf } from "./wire.js";

const HELD = new Set(["active", "unbound"]);
const MODES = ["allow", "ask"];
const FILTERS = ["all", "waiting_authorization", "waiting_decision", "unknown", "refused", "failed", "succeeded"];
const PAGE = 50;

export function grantsSection({ connection, grants, book, tasks }) {
  const more = () =>
    grants.hasMore && el("button", { type: "button", class: "secondary-button", data: { focus: "more" }, on: { click: () => grants.more().catch(() => null) } }, t("list.more"));
  const build = (actions) => {
    const asked = [...new Set(grants.requests.map((request) => request.task_id))];
    const row = (grant) => grantView(grant, actions, holderLink(grant, tasks.task, "#/settings/grants"));
    const held = grants.grants.filter((grant) => HELD.has(grant.state));
    const ended = grants.grants.filter((grant) => !HELD.has(grant.state));
    return [
      asked.map((id) => admissionCard({ grants, book, tasks }, id)),
      held.map(row),
      held.length + asked.length === 0 && el("p", { class: "quiet" }, t("grant.no_active")),
      ended.length > 0 && el("details", { class: "earlier", data: { part: "earlier" } }, el("summary", {}, t("grant.earlier")), ended.map(row)),
      more(),
    ].flat();
  };
  const section = new Section(connection, { key: "grants", read: () => grants.refresh(), shape: () => [grants.grants, grants.requests, grants.hasMore], build });
  grants.onChange(() => section.changed());
  return section;
}

export function rulesSection({ connection, rules }) {
  const build = (actions) => (rules.rules.length ? rules.rules.map((rule) => ruleView(rule, actions)) : el("p", { class: "quiet" }, t("rule.none")));
  const section = new Section(connection, { key: "rules", read: () => rules.refresh(), shape: () => rules.rules, build });
  rules.onChange(() => section.changed());
  return section;
}

function ruleView(rule, actions) {
  const { rule_id: id, revision, mode, paused } = rule;
  const key = `rule:${id}`;
  const busy = actions.isBusy(key) || !isLocalPage;
  const change = (changes, done) => actions.perform(key, "agents.rules.update", { rule_id: id, expected_revision: revision, ...changes }, () => t(done));
  const remove = () => actions.perform(`${key}:delete`, "agents.rules.delete", { rule_id: id, expected_revision: revision }, () => t("rule.deleted"));
  return el(
    "div",
    { class: "rule", data: { rule: id } },
    el("p", { class: "grant-head" }, icon(EFFECT_ICONS[rule.kind] ?? "shield"), el("span", { class: "grant-words" }, said(rule, "words")), paused && el("span", { class: "pill" }, t("rule.paused"))),
    el(
      "div",
      { class: "rule-controls" },
      el(
        "fieldset",
        { class: "choice", disabled: busy },
        el("legend", { class: "visually-hidden" }, `${t("rule.mode")}: ${said(rule, "words")}`),
        el(
          "div",
          { class: "segments" },
          MODES.map((value) =>
            el(
              "label",
              {},
              el("input", { type: "radio", name: key, value, checked: value === mode, data: { focus: `${key}:${value}` }, on: { change: () => change({ mode: value }, `rule.mode.${value}`) } }),
              el("span", {}, t(`rule.mode.${value}`)),
            ),
          ),
        ),
      ),
      el(
        "button",
        { type: "button", class: "secondary-button", disabled: busy, "aria-pressed": String(paused), data: { focus: `${key}:open` }, on: { click: () => change({ paused: !paused }, paused ? "rule.goes_on" : "rule.paused") } },
        t(paused ? "rule.resume" : "rule.pause"),
      ),
      isLocalPage && inlineForm(actions, `${key}:delete`, {
        label: t("rule.delete"),
        look: "text-button",
        words: [t("rule.delete_words")],
        buttons: [{ label: t("rule.delete_yes"), look: "danger-button", act: remove }],
      }),
    ),
    noteOf(actions, key),
    el("p", { class: "quiet" }, t("rule.saved_at"), " ", timeTag(rule.created_at, short)),
  );
}

export function effectsSection({ connection }) {
  let effects = [];
  let cursor = null;
  let filter = "all";
  let shownBefore = PAGE;

  const page = (after) =>
    connection.call("agents.effects.list", { limit: PAGE, ...(filter !== "all" && { state: filter }), ...(after && { cursor: after }) });

  // Reads as much as was on screen, so that a notice does not take away what the person went back to.
  async function read() {
    const wanted = filter;
    const items = [];
    let next = null;
    do {
      const answer = await page(next);
      items.push(...listOf(answer));
      next = answer.next_cursor;
    } while (next && items.length < shownBefore);
    if (wanted === filter) [effects, cursor] = [items, next];
  }

  const build = (actions) => {
    const choose = el(
      "select",
      { class: "field filter", "aria-label": t("effects.filter"), data: { focus: "filter" } },
      FILTERS.map((value) => el("option", { value, selected: value === filter }, t(value === "all" ? "effects.all" : `state.${value}`))),
    );
    choose.addEventListener("change", () => {
      [filter, shownBefore] = [choose.value, PAGE];
      section.refresh();
    });
    const more = cursor && el("button", { type: "button", class: "secondary-button", data: { focus: "more" }, on: { click: () => ((shownBefore += PAGE), section.refresh()) } }, t("list.more"));
    const rows = effects.map((effect) => effectView(effect, { actions, link: true, place: "#/settings/effects" }));
    return [choose, rows, rows.length === 0 && el("p", { class: "quiet" }, t("effects.none")), more].flat();
  };
  const section = new Section(connection, { key: "effects", read, shape: () => [filter, effects, cursor], build });
  return section;
}
