// What stands under stored messages besides their text: the permission that a task needs, under the message that asks
// for it or else where the task was handed over (A10, A11), what a reply changed (E20), and what it proposed (U9).

import { admissionCard, hasAdmission } from "./admission_card.js";
import { el, reconcile } from "./dom.js";
import { said, t } from "./i18n.js";
import { icon } from "./icons.js";
import { EFFECT_ICONS, reasonOf } from "./effect_view.js";
import { proposalCard } from "./proposal_card.js";
import { stateWords } from "./work.js";

export class Places {
  #homes = new Map();
  #listeners = new Set();

  constructor({ thread, grants, book, tasks, effects, automations }) {
    Object.assign(this, { thread, grants, book, tasks, effects, automations });
    for (const source of [grants, book, tasks, effects, automations]) source.onChange(() => this.fill());
  }

  onChange(listener) {
    this.#listeners.add(listener);
  }

  // Whether this task's permission can be given under a message on screen.
  hasHome = (taskId) => this.#homes.has(taskId);

  // The sequence of the message on screen that proposed this schedule.
  proposedIn({ source }) {
    const turns = new Set((source?.message_seqs ?? []).map((seq) => this.thread.message(seq)?.turn_id).filter(Boolean));
    return this.thread.messages().findLast(({ role, delivery, turn_id: turn }) => role === "assistant" && !delivery && turns.has(turn))?.seq;
  }

  // Whether a task's card follows its permission in the conversation, and so need not stand elsewhere too: it does as
  // long as that permission holds and nothing more is asked for there.
  follows = ({ task_id: id, effect_id: effect }) =>
    this.hasHome(id) && this.grants.followed.get(id) === effect && !this.grants.requestOf(id) && Boolean(this.grants.activeOf(id));

  fill() {
    this.#homes = this.#findHomes();
    const guests = new Map();
    for (const [taskId, seq] of this.#homes) guests.set(seq, [...(guests.get(seq) ?? []), taskId]);
    const proposed = grouped(this.automations.known, (proposal) => this.proposedIn(proposal));
    for (const message of this.thread.messages()) {
      // The message of a delivery links to its task itself.
      const asked = (guests.get(message.seq) ?? []).map((taskId) => ({ task_id: taskId, link: !message.delivery }));
      const place = this.thread.node(message.seq).querySelector(".message-extra");
      const proposals = (proposed.get(message.seq) ?? []).map(({ proposal_id: id }) => ({ proposal_id: id }));
      const items = [...this.#changes(message), ...asked, ...this.#settled(message, asked), ...proposals];
      if (place && (items.length || place.childElementCount)) reconcile(place, items, (item) => item.effect_id ?? item.task_id ?? item.proposal_id, (item) => this.#view(item));
    }
    for (const listener of this.#listeners) listener();
  }

  #view(item) {
    if (item.proposal_id) return proposalCard(this.automations, item.proposal_id);
    if (item.settled) return el("p", { class: "quiet" }, t(`admission.${item.settled}`));
    return item.effect_id ? changeLine(item) : admissionCard(this, item.task_id, { follow: true, linkTask: item.link });
  }

  // The newest message on screen that is about each task's permission.
  #findHomes() {
    const homes = new Map();
    const messages = this.thread.messages();
    const turns = new Map(messages.filter(({ role }) => role === "user").map(({ seq, turn_id: turn }) => [seq, turn]));
    for (const taskId of this.#concerned()) {
      const handedOver = new Set(this.tasks.askedIn(taskId).map((seq) => turns.get(seq)).filter(Boolean));
      const home = messages.findLast(
        ({ role, delivery, turn_id: turn }) =>
          role === "assistant" && (delivery ? delivery.kind === "authorization" && delivery.task_id === taskId : handedOver.has(turn)),
      );
      if (home) homes.set(taskId, this.#inUse(taskId) ?? home.seq);
    }
    return homes;
  }

  // Where the card is being used it stays, whatever newer message is about it too: it does not move from under a hand.
  #inUse(taskId) {
    const seq = this.#homes.get(taskId);
    const card = this.thread.node(seq)?.querySelector(`[data-admission="${CSS.escape(taskId)}"]`);
    return card?.contains(document.activeElement) ? seq : undefined;
  }

  #concerned() {
    const asking = this.grants.requests.map((request) => request.task_id);
    const live = this.tasks.live.map((task) => task.task_id);
    return [...new Set([...asking, ...live])].filter((id) => hasAdmission(this, id));
  }

  // A message that asked for a permission says what became of that.
  #settled({ delivery, time }, asked) {
    if (delivery?.kind !== "authorization" || asked.length || !this.grants.loaded) return [];
    const given = this.grants.ofTask(delivery.task_id).some((grant) => grant.issued_at >= time);
    return [{ task_id: delivery.task_id, settled: given ? "was_allowed" : "over" }];
  }

  // A card that the message carries tells of its action itself.
  #changes({ role, delivery, turn_id: turn, card }) {
    if (role !== "assistant" || delivery || !turn) return [];
    const shown = this.effects.ofTurn(turn).filter((effect) => !card || effect.approval_id !== card);
    return shown.map(({ effect_id, kind, state, reason, trail, words, words_by_language }) => ({ effect_id, kind, state, reason, trail, words, words_by_language }));
  }
}

function grouped(items, keyOf) {
  const groups = new Map();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

function changeLine(effect) {
  const why = reasonOf(effect);
  return el(
    "a",
    { class: "change-line", href: `#/effect/${effect.effect_id}` },
    icon(EFFECT_ICONS[effect.kind] ?? "shield"),
    el("span", { class: "change-words" }, said(effect, "words"), why && el("span", { class: "effect-why" }, why)),
    el("span", { class: `pill pill-${effect.state}` }, stateWords(effect.state)),
    icon("chevron"),
  );
}
