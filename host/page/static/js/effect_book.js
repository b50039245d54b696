// What replies of the conversation changed, by turn: so that an action that was decided while its reply ran can still
// be found from its message (E20).

import { listOf } from "./wire.js";

const PAGE = 100;
const MAX_PAGES = 5;
const QUIET_MS = 200;
const ENDED = new Set(["succeeded", "failed", "withdrawn", "refused"]);

export class EffectBook {
  #effects = new Map();
  #ofTurns = new Map();
  #reached = null;
  #timer = 0;
  #listeners = new Set();

  constructor(connection) {
    this.connection = connection;
  }

  onChange(listener) {
    this.#listeners.add(listener);
  }

  // In the order in which they were proposed.
  ofTurn = (turnId) => this.#ofTurns.get(turnId) ?? [];

  get hasOpen() {
    return [...this.#ofTurns.values()].flat().some((effect) => !ENDED.has(effect.state));
  }

  // Reads the newest ones soon; several wishes of one moment cost one read.
  refreshSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#read(null).catch(() => null), QUIET_MS);
  }

  // Reads back to the time of the oldest message on screen, but not for ever.
  async reach(time) {
    for (let page = 0; page < MAX_PAGES && this.#reached?.cursor && this.#reached.time > time; page++) {
      await this.#read(this.#reached.cursor);
    }
  }

  async #read(cursor) {
    const answer = await this.connection.call("agents.effects.list", { limit: PAGE, ...(cursor && { cursor }) });
    const items = listOf(answer);
    for (const effect of items) this.#effects.set(effect.effect_id, effect);
    const ofTurns = [...this.#effects.values()].filter((effect) => effect.turn_id && !effect.task_id);
    this.#ofTurns = Map.groupBy(ofTurns.sort((one, other) => (one.effect_id < other.effect_id ? -1 : 1)), (effect) => effect.turn_id);
    if (cursor || !this.#reached) this.#reached = { cursor: answer.next_cursor, time: items.at(-1)?.created_at ?? "" };
    for (const listener of this.#listeners) listener();
  }
}
