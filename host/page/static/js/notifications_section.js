// The section of the settings about notifications (N2, N3, N8, N9): the person's choices, said again in one sentence as
// they would hold, this browser's own state, and channels elsewhere.

import { agentsPanel } from "./agents_panel.js";
import { choice } from "./choice.js";
import { el } from "./dom.js";
import { inputOf, labelled, selectOf } from "./form_fields.js";
import { t } from "./i18n.js";
import { inlineForm, noteOf } from "./inline_form.js";
import { policyWords, windowWords } from "./notification_words.js";
import { ownZone, zones } from "./schedule_presets.js";
import { Section } from "./section.js";
import { isLocalPage } from "./wire.js";

const WINDOWS_S = [0, 30, 60, 300, 600, 900];
const QUIET = ["start", "end", "timezone"];
const ON_OFF = () => [["on", t("notify.on")], ["off", t("notify.off")]];

export function notificationsSection({ connection, person, profiles, push }) {
  const read = async () => {
    await Promise.all([person.refresh(), profiles.refresh(), push.look()]);
    if (person.failure && !person.values) throw person.failure;
  };
  const shape = () => [person.values, profiles.all, push.state, push.pageState];

  const build = (actions) => {
    const { values } = person;
    const write = (key, changes, done = "notify.saved") =>
      actions.perform(`notify:${key}`, "agents.settings.update", { expected_revision: values.revision, changes }, () => t(done));
    const parts = { actions, values, write, profiles, push };
    return [
      !isLocalPage && el("p", { class: "quiet" }, t("notify.local")),
      generalPanel(parts),
      agentsPanel(parts),
      quietPanel(parts),
      browserPanel(parts),
      channelsPanel(parts),
    ];
  };
  const section = new Section(connection, { key: "notifications", read, shape, build });
  person.onChange(() => section.changed());
  push.onChange(() => section.changed());
  return section;
}

const panel = (key, ...content) => el("section", { class: "panel", "aria-label": t(key) }, el("h4", {}, t(key)), content);

function generalPanel({ actions, values, write, profiles }) {
  const { notifications, aggregation_s: window } = values;
  const disabled = !isLocalPage;
  const windows = [...new Set([...WINDOWS_S, window])].sort((one, other) => one - other);
  return panel(
    "notify.general",
    el("p", { class: "policy-words", role: "status" }, policyWords({ ...values, quiet_hours: quietDraft(actions, values) }, profiles)),
    choice("notify-enabled", t("notify.enabled"), notifications.enabled ? "on" : "off", ON_OFF(), (value) => write("enabled", { notifications: { enabled: value === "on" } }), { disabled }),
    noteOf(actions, "notify:enabled"),
    profiles.all.length > 1 && notifications.enabled && el(
      "fieldset",
      { class: "agent-switches", disabled },
      el("legend", {}, t("notify.agents")),
      profiles.all.map(({ agent_id: id, name }) =>
        choice(`notify-agent-${id}`, name, (notifications.agents?.[id] ?? true) ? "on" : "off", ON_OFF(), (value) => write(`agent:${id}`, { notifications: { agents: { [id]: value === "on" } } })),
      ),
      profiles.all.map(({ agent_id: id }) => noteOf(actions, `notify:agent:${id}`)),
    ),
    labelled("notify-window", "notify.window", selectOf("notify-window", windows.map((seconds) => [String(seconds), seconds ? t("notify.window.for", { window: windowWords(seconds) }) : t("notify.window.none")]), String(window), (value) => write("window", { aggregation_s: Number(value) }), { disabled })),
    noteOf(actions, "notify:window"),
  );
}

// The quiet hours as they are on screen: what was typed, over what holds. Until there are any, the zone is the person's.
function quietDraft(actions, { quiet_hours: quiet }) {
  const held = quiet.enabled ? quiet : { ...quiet, timezone: ownZone() };
  return { enabled: quiet.enabled, ...Object.fromEntries(QUIET.map((name) => [name, actions.draft(`quiet:${name}`) || held[name]])) };
}

function quietPanel({ actions, values, write }) {
  const { enabled, ...draft } = quietDraft(actions, values);
  const disabled = !isLocalPage;
  const changed = QUIET.some((name) => draft[name] !== values.quiet_hours[name]);
  const keep = (name) => (value) => {
    actions.write(`quiet:${name}`, value);
    actions.redraw();
  };
  const save = async (changes, done) => {
    await write("quiet", { quiet_hours: changes }, done);
    if (!actions.note("notify:quiet")) {
      for (const name of QUIET) actions.write(`quiet:${name}`, "");
      actions.redraw();
    }
  };
  const submit = (event) => {
    event.preventDefault();
    save(draft, "notify.quiet.saved");
  };
  const time = (name) => labelled(`quiet-${name}`, `notify.quiet.${name}`, inputOf("input", `quiet-${name}`, draft[name], keep(name), { type: "time", disabled }));
  return panel(
    "notify.quiet",
    choice("notify-quiet", t("notify.quiet.choice"), enabled ? "on" : "off", ON_OFF(), (value) => save(value === "on" ? { enabled: true, ...draft } : { enabled: false }, "notify.saved"), { disabled }),
    enabled && el(
      "form",
      { class: "quiet-form", "aria-label": t("notify.quiet"), on: { submit } },
      el("div", { class: "field-pair" }, time("start"), time("end")),
      labelled("quiet-zone", "notify.quiet.zone", selectOf("quiet-zone", zones(draft.timezone).map((zone) => [zone, zone]), draft.timezone, keep("timezone"), { disabled })),
      changed && el("button", { type: "submit", class: "primary-button", disabled: disabled || actions.isBusy("notify:quiet"), data: { focus: "notify:quiet:open" } }, t("notify.quiet.save")),
    ),
    noteOf(actions, "notify:quiet"),
  );
}

function browserPanel({ actions, push }) {
  const { pageState, state } = push;
  // Said is how things stand afterwards: the person may have refused what the browser asked.
  const act = (kind, job) => actions.attempt(`notify:${kind}`, job, () => t(`notify.${kind}.${kind === "page" ? push.pageState : push.state}`), (error) => t("notify.push.failed", { message: error.message }));
  const button = (kind, words, job) =>
    el("button", { type: "button", class: "secondary-button", disabled: actions.isBusy(`notify:${kind}`), data: { focus: `notify:${kind}:open` }, on: { click: () => act(kind, job) } }, t(words));
  return panel(
    "notify.browser",
    el("div", { class: "browser-state", data: { state: pageState } }, el("h5", {}, t("notify.page")), el("p", { class: "quiet" }, t(`notify.page.${pageState}`)), pageState === "default" && button("page", "notify.page.ask", () => push.askPermission())),
    el(
      "div",
      { class: "browser-state", data: { state } },
      el("h5", {}, t("notify.push")),
      el("p", { class: "quiet" }, t(`notify.push.${state}`)),
      state === "off" && button("push", "notify.push.subscribe", () => push.subscribe()),
      state === "on" && button("push", "notify.push.unsubscribe", () => push.unsubscribe()),
      noteOf(actions, "notify:push"),
    ),
  );
}

function channelsPanel({ actions, values, write }) {
  const { channels = [] } = values;
  const kept = (without) => channels.filter(({ channel_id: id }) => id !== without).map(({ channel_id: id }) => ({ channel_id: id }));
  const add = (url) => url && write("channel", { channels: [...kept(), { kind: "apprise", url }] }, "notify.channel.added");
  return panel(
    "notify.channels",
    el("p", { class: "quiet" }, t("notify.channels_note")),
    channels.length > 0
      ? el("ul", { class: "channels" }, channels.map((channel) => channelRow(channel, { actions, remove: () => write(`remove:${channel.channel_id}`, { channels: kept(channel.channel_id) }, "notify.channel.removed") })))
      : el("p", { class: "quiet" }, t("notify.channels.none")),
    isLocalPage && inlineForm(actions, "notify:channel", {
      label: t("notify.channel.add"),
      field: { label: t("notify.channel.url"), hint: t("notify.channel.hint"), secret: true },
      buttons: [{ label: t("notify.channel.save"), look: "primary-button", act: add }],
    }),
  );
}

function channelRow({ channel_id: id, url }, { actions, remove }) {
  const key = `notify:remove:${id}`;
  return el(
    "li",
    { class: "line", data: { channel: id } },
    el("code", {}, url),
    isLocalPage && el("button", { type: "button", class: "text-button", disabled: actions.isBusy(key), "aria-label": t("notify.channel.remove_named", { name: url }), data: { focus: `${key}:open` }, on: { click: remove } }, t("notify.channel.remove")),
    noteOf(actions, key),
  );
}
