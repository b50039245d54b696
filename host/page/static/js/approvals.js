// The cards this page knows, by id. Every view of a card reads from here, so that all of them change together (E9, E10).

import { newRequestId } from "./rpc.js";
import { listOf } from "./wire.js";

export class ApprovalBook {
  #cards = new Map();
  #pending = [];
  #listeners = new Set();
  loaded = false;

  // `rules`: what a card can be saved as, for always.
  constructor(connection, rules) {
    Object.assign(this, { connection, rules });
  }

  onChange(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get pending() {
    return this.#pending.map((id) => this.#cards.get(id));
  }

  card(id) {
    return this.#cards.get(id);
  }

  // The newest card of an effect, of those that this page has seen.
  ofEffect(effectId) {
    return [...this.#cards.values()].findLast((card) => card.effect_id === effectId);
  }

  // Reads what waits now; cards that waited before and no longer do are read one by one for how they ended.
  async refresh() {
    const waiting = listOf(await this.connection.call("agents.approvals.list", { state: "pending", limit: 100 }));
    const before = this.#pending;
    this.#pending = waiting.map((card) => card.approval_id);
    for (const card of waiting) this.#keep(card);
    this.loaded = true;
    const settled = before.filter((id) => !this.#pending.includes(id));
    this.#changed();
    await Promise.all(settled.map((id) => this.read(id)));
  }

  // Reads one card with its details; resolves to it, rejects with the server's refusal.
  async read(id) {
    const answer = await this.connection.call("agents.approvals.get", { approval_id: id });
    const card = answer.approval ?? answer;
    this.#keep(card);
    this.#changed();
    return card;
  }

  // Sends the decision for exactly the card that was shown; a conflict shows the card as it is now instead.
  async decide(card, decision) {
    const params = {
      approval_id: card.approval_id,
      version: card.version,
      action_digest: card.action_digest,
      decision,
    };
    try {
      const answer = await this.connection.call("agents.approvals.decide", params, { requestId: newRequestId() });
      this.#keep(answer.approval);
    } catch (error) {
      await this.read(card.approval_id).catch(() => null);
      throw error;
    } finally {
      this.#changed();
    }
  }

  #keep(card) {
    const known = this.#cards.get(card.approval_id);
    if (known && known.version > card.version) return;
    const details = known?.action_digest === card.action_digest ? known.details : undefined;
    this.#cards.set(card.approval_id, { ...card, details: card.details ?? details });
    if (card.state !== "pending") this.#pending = this.#pending.filter((id) => id !== card.approval_id);
  }

  #changed() {
    for (const listener of this.#listeners) listener();
  }
}
