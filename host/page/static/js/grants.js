// Unattended authority as this page knows it: what tasks ask for, and what was given and for how long (A9-A11). Every
// view reads from here, so that a permission given in one place shows in all.

import { newRequestId } from "./rpc.js";
import { listOf } from "./wire.js";

const PAGE = 100;

export class GrantBook {
  #grants = new Map();
  #requests = [];
  // Requests of automations, by automation: they are asked for on a press, and not listed.
  #asked = new Map();
  #cursor = null;
  #readings = 0;
  #listeners = new Set();

  // Chosen lifetimes in seconds and requests that were put off, by request; this page's only.
  lifetimes = new Map();
  putOff = new Set();
  // Effects whose card is to follow where their task was allowed from the conversation: task -> effect.
  followed = new Map();
  loaded = false;

  constructor(connection) {
    this.connection = connection;
  }

  onChange(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // Newest first.
  get grants() {
    return [...this.#grants.values()].sort((one, other) => (one.grant_ref < other.grant_ref ? 1 : -1));
  }

  get hasMore() {
    return Boolean(this.#cursor);
  }

  // What is asked for and not put off, oldest first.
  get waiting() {
    return this.#requests.filter((request) => !this.putOff.has(request.proposal_id));
  }

  get requests() {
    return this.#requests;
  }

  requestOf(taskId) {
    return this.#requests.findLast((request) => request.task_id === taskId);
  }

  requestOfAutomation(id) {
    return this.#asked.get(id);
  }

  // The grants that a task holds or held, newest first.
  ofTask(taskId) {
    return this.grants.filter((grant) => grant.holder?.task_id === taskId);
  }

  // Those that were issued for an automation itself; its runs act under narrowings of them (A15).
  ofAutomation(id) {
    return this.grants.filter(({ holder }) => holder?.automation_id === id && !holder.task_id);
  }

  activeOf(taskId) {
    return this.ofTask(taskId).find((grant) => grant.state === "active");
  }

  async refresh() {
    const reading = ++this.#readings;
    const answer = await this.connection.call("agents.grants.list", { limit: PAGE });
    // Of two readings the later one holds, whichever answer comes last.
    if (reading !== this.#readings) return;
    this.#requests = (answer.proposals ?? []).filter((request) => request.task_id).sort((one, other) => (one.proposal_id < other.proposal_id ? -1 : 1));
    // What was read beyond the first page would never be read again, and might claim what no longer holds.
    this.#grants.clear();
    this.#take(answer);
  }

  async more() {
    this.#take(await this.connection.call("agents.grants.list", { limit: PAGE, cursor: this.#cursor }));
  }

  // Asks what a task would have to be allowed; nothing is allowed by it.
  async propose(taskId) {
    const request = await this.#propose({ task_id: taskId });
    if (!this.#requests.some((known) => known.proposal_id === request.proposal_id)) this.#requests.push({ task_id: taskId, ...request });
    this.#changed();
  }

  // The same for an automation as it is now (U6).
  async proposeForAutomation(id) {
    this.#asked.set(id, await this.#propose({ automation_id: id }));
    this.#changed();
  }

  // Without the receipt, so that what is asked for here is what the list shows.
  async #propose(holder) {
    const { receipt, ...request } = await this.connection.call("agents.grants.propose", holder, { requestId: newRequestId() });
    return request;
  }

  async issue(request, lifetime) {
    const params = { proposal_id: request.proposal_id, lifetime_s: lifetime };
    try {
      await this.connection.call("agents.grants.issue", params, { requestId: newRequestId() });
    } finally {
      for (const [id, asked] of this.#asked) if (asked.proposal_id === request.proposal_id) this.#asked.delete(id);
      // Given or refused: what holds now is read, never assumed (E7).
      await this.refresh().catch(() => null);
    }
  }

  #take(answer) {
    for (const grant of listOf(answer)) this.#grants.set(grant.grant_ref, grant);
    this.#cursor = answer.next_cursor;
    this.loaded = true;
    this.#changed();
  }

  // Puts a request off, or takes it up again.
  putAway(request, away) {
    if (away) this.putOff.add(request.proposal_id);
    else this.putOff.delete(request.proposal_id);
    this.#changed();
  }

  #changed() {
    for (const listener of this.#listeners) listener();
  }
}
