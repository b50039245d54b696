// Where a person lets a task act unattended (A10, A11): what would be allowed in plain words, for how long, one button.
// One card for each task or automation, always as things stand: asked for, allowed until when, or still to be asked for.

import { announce } from "./announcer.js";
import { approvalCard } from "./approval_card.js";
import { short, timeTag } from "./clock.js";
import { el } from "./dom.js";
import { focusMemory, keepFocus } from "./focus.js";
import { errorWords, has, said, t } from "./i18n.js";
import { icon } from "./icons.js";
import { isLocalPage } from "./wire.js";

const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
const LIFETIMES = [["hour", HOUR_S], ["day", DAY_S], ["week", 7 * DAY_S], ["month", 30 * DAY_S]];
let lastName = 0;

// `follow`: the card of the exact action takes this one's place once its task is allowed. `subject` says whose words are
// used; books of the same shape (automation_authority.js) stand for those of tasks then.
export function admissionCard({ grants, book, tasks }, taskId, { linkTask = true, follow = false, subject = "task" } = {}) {
  const say = (key) => t(has(`admission.${subject}.${key}`) ? `admission.${subject}.${key}` : `admission.${key}`);
  const root = el("article", { class: "approval admission", data: { admission: taskId } });
  const note = el("p", { class: "approval-note", role: "status" });
  const choice = `lifetime-${++lastName}`;
  let shape = "";
  let busy = false;
  let wasShown = false;
  let nextFocus = null;
  let cardShown = null;

  // Does something on the host and shows what holds then: `done` is said aloud, the focus goes to `focus`, or back to
  // what was `pressed`.
  const act = async (job, { done, focus, pressed }) => {
    if (busy) return;
    busy = true;
    note.textContent = say("saving");
    for (const control of root.querySelectorAll("button, input")) control.disabled = true;
    try {
      await job();
      note.textContent = "";
      nextFocus = focus;
      announce(say(done));
    } catch (error) {
      nextFocus = pressed;
      note.textContent = errorWords(error);
    } finally {
      busy = false;
      shape = "";
      if (root.isConnected) update();
      else keepFocus(root);
    }
  };

  const doing = {
    propose: () => act(() => grants.propose(taskId), { done: "asked", focus: "allow", pressed: "offer" }),
    issue: (request) =>
      act(async () => {
        if (follow && request.effect_id) grants.followed.set(taskId, request.effect_id);
        await grants.issue(request, grants.lifetimes.get(request.proposal_id) ?? DAY_S);
      }, { done: "allowed", focus: "state", pressed: "allow" }),
    putAway: (request, away) => {
      nextFocus = away ? "again" : "allow";
      grants.putAway(request, away);
    },
    choose: (request, seconds) => grants.lifetimes.set(request.proposal_id, seconds),
  };

  function update() {
    if (wasShown && !root.isConnected) return stop();
    wasShown ||= root.isConnected;
    if (busy) return undefined;
    const now = standing({ grants, book, tasks }, taskId, follow);
    const next = JSON.stringify([document.documentElement.lang, now]);
    if (next === shape) return undefined;
    // What was refused is told until something else is there.
    if (shape !== "") note.textContent = "";
    shape = next;
    const restoreFocus = focusMemory(root);
    root.dataset.state = now.state;
    root.classList.toggle("admission-line", now.state !== "asked");
    root.replaceChildren(...parts(now, { taskId, doing, note, choice, linkTask, book, grants, say }));
    restoreFocus({ wanted: nextFocus, fallback: root.querySelector("[data-focus]") ?? document.getElementById("composer-text") });
    nextFocus = null;
    if (now.card && now.card !== cardShown) announce(t("admission.now_decide"));
    cardShown = now.card;
    return undefined;
  }

  const stops = [grants, book, tasks].map((source) => source.onChange(update));
  const stop = () => stops.forEach((end) => end());
  update();
  return root;
}

// Whether there is anything to show for a task.
export const hasAdmission = (books, taskId, follow = false) => standing(books, taskId, follow).state !== "none";

function standing({ grants, book, tasks }, taskId, follow) {
  const request = grants.requestOf(taskId);
  const title = tasks.task(taskId)?.title;
  if (request) return { state: grants.putOff.has(request.proposal_id) ? "put_off" : "asked", request, title };
  const held = grants.activeOf(taskId);
  if (held) return { state: "allowed", grant: held, title, card: follow ? followedCard(grants, book, taskId) : null };
  if (!grants.loaded || !tasks.mayBeAllowed(taskId)) return { state: "none" };
  return { state: "offer", ended: grants.ofTask(taskId)[0]?.state, title };
}

function followedCard(grants, book, taskId) {
  const effect = grants.followed.get(taskId);
  return effect ? (book.ofEffect(effect)?.approval_id ?? null) : null;
}

function parts(now, { taskId, doing, note, choice, linkTask, book, grants, say }) {
  const link = linkTask && el("a", { class: "approval-task", href: `#/task/${taskId}`, data: { focus: "task" } }, t("approval.of_task"), icon("chevron"));
  if (now.state === "asked") return asked(now, { doing, note, choice, link, grants, say });
  if (now.state === "put_off") {
    return line("shield", say("put_off"), button("secondary-button", "again", say("look_again"), () => doing.putAway(now.request, false)), note, link);
  }
  if (now.state === "offer") {
    const words = say(now.ended ? `ended_${now.ended}` : "none");
    return line("shield", words, isLocalPage && button("secondary-button", "offer", say("offer"), doing.propose), note, link);
  }
  if (now.state !== "allowed") return [note];
  const until = el("span", { tabindex: "-1", data: { focus: "state" } }, say("until"), " ", timeTag(now.grant.expires_at, short));
  return [
    ...line("check", [until, " · ", said(now.grant, "words")], null, note, link),
    now.card && approvalCard(book, now.card, { linkTask: false }),
  ].filter(Boolean);
}

function line(mark, words, control, note, link) {
  return [el("p", { class: "admission-words" }, icon(mark), el("span", {}, words)), control, note, link].filter(Boolean);
}

function asked({ request, title }, { doing, note, choice, link, grants, say }) {
  const chosen = grants.lifetimes.get(request.proposal_id) ?? DAY_S;
  return [
    el(
      "header",
      { class: "approval-head" },
      el("span", { class: "approval-icon" }, icon("shield")),
      el("span", { class: "approval-title" }, say("title")),
      el("span", { class: "approval-kind" }, title ?? say("kind")),
    ),
    el("p", { class: "approval-impact" }, say(request.effect_id ? "exactly" : "may")),
    el("p", { class: "approval-words" }, said(request, "words")),
    boundsView(request.bounds),
    isLocalPage && el(
      "fieldset",
      { class: "choice lifetime" },
      el("legend", {}, t("admission.lifetime")),
      el(
        "div",
        { class: "segments" },
        LIFETIMES.map(([name, seconds]) =>
          el(
            "label",
            {},
            el("input", { type: "radio", name: choice, value: seconds, checked: seconds === chosen, data: { focus: `lifetime:${name}` }, on: { change: () => doing.choose(request, seconds) } }),
            el("span", {}, t(`admission.${name}`)),
          ),
        ),
      ),
    ),
    el("p", { class: "quiet" }, say(isLocalPage ? "foot" : "local")),
    el(
      "div",
      { class: "approval-actions" },
      isLocalPage && button("primary-button", "allow", say("allow"), () => doing.issue(request)),
      button("secondary-button", "later", say("later"), () => doing.putAway(request, true)),
    ),
    note,
    link,
  ].filter(Boolean);
}

const button = (look, focus, words, press) => el("button", { type: "button", class: look, data: { focus }, on: { click: press } }, words);

// The bounds themselves, for who wants to see exactly what the words stand for (A1, A10).
function boundsView(bounds) {
  const facts = [
    ["actions", bounds.actions],
    ["resources", (bounds.resources ?? []).map((resource) => resource.value)],
    ["models", bounds.models],
    ["engines", bounds.engines],
    ["permission_ceiling", [bounds.permission_ceiling]],
  ];
  return el(
    "details",
    { class: "bounds" },
    el("summary", {}, t("admission.bounds")),
    el("dl", { class: "facts" }, facts.map(([name, values]) => values?.[0] && el("div", {}, el("dt", {}, t(`bounds.${name}`)), el("dd", {}, values.map((value) => el("code", {}, value)))))),
  );
}
