// The automations and open proposals that this page knows. Every view reads from here, so that what is paused, moved or
// confirmed in one place shows in all (U7-U9).

import { newRequestId } from "./rpc.js";
import { listOf } from "./wire.js";

const PAGE = 100;
const MAX_PAGES = 10;
const QUIET_MS = 120;

export class AutomationBook {
  #automations = new Map();
  #proposals = new Map();
  #settled = new Map();
  #readings = 0;
  #timer = 0;
  #listeners = new Set();

  // Proposals that were put off, by id; this page's only.
  putOff = new Set();
  loaded = false;
  failure = null;

  constructor(connection) {
    this.connection = connection;
  }

  onChange(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // In the host's order.
  get automations() {
    return [...this.#automations.values()];
  }

  automation = (id) => this.#automations.get(id);

  // Open proposals, oldest first.
  get proposals() {
    return [...this.#proposals.values()].filter((proposal) => !this.#settled.has(proposal.proposal_id));
  }

  // Those that were not put off.
  get waiting() {
    return this.proposals.filter((proposal) => !this.putOff.has(proposal.proposal_id));
  }

  // Those and the ones that this page saw come to their end, oldest first: a card changes in its place.
  get known() {
    return [...this.#proposals.values()];
  }

  // How a proposal that is no longer open ended: {state: confirmed|closed, automation_id?}.
  settled = (id) => this.#settled.get(id);

  refreshSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.refresh(), QUIET_MS);
  }

  async refresh() {
    const reading = ++this.#readings;
    try {
      const { rows, proposals } = await this.#readAll();
      // Of two readings the later one holds, whichever answer comes last.
      if (reading !== this.#readings) return;
      this.#automations = new Map(rows.map((row) => [row.automation_id, row]));
      this.#takeProposals(proposals);
      this.loaded = true;
      this.failure = null;
    } catch (error) {
      this.failure = error;
    }
    this.#changed();
  }

  async #readAll() {
    const rows = [];
    let proposals = [];
    let cursor = null;
    for (let page = 0; page < MAX_PAGES; page++) {
      const answer = await this.connection.call("agents.automations.list", { limit: PAGE, ...(cursor && { cursor }) });
      rows.push(...listOf(answer));
      proposals = answer.proposals ?? proposals;
      cursor = answer.next_cursor;
      if (!cursor) break;
    }
    return { rows, proposals };
  }

  // Takes one as it was just read.
  take(automation) {
    const known = this.#automations.get(automation.automation_id);
    this.#automations.set(automation.automation_id, { ...known, ...automation });
    if (known?.revision !== automation.revision) this.#changed();
  }

  #takeProposals(proposals) {
    const open = new Set(proposals.map((proposal) => proposal.proposal_id));
    for (const id of this.#proposals.keys()) {
      if (!open.has(id) && !this.#settled.has(id)) this.#settled.set(id, { state: "closed" });
    }
    for (const proposal of [...proposals].sort((one, other) => (one.proposal_id < other.proposal_id ? -1 : 1))) {
      this.#proposals.set(proposal.proposal_id, proposal);
    }
  }

  // Makes a proposal real (U9); rejects with the refusal after reading what holds now.
  async confirm(proposal) {
    const id = proposal.proposal_id;
    try {
      const answer = await this.connection.call("agents.automations.confirm", { proposal_id: id }, { requestId: newRequestId() });
      this.#settled.set(id, { state: "confirmed", automation_id: answer.automation_id });
    } catch (error) {
      // Confirmed in another place already: that is what the card then says.
      if (error.data?.state !== "confirmed") throw error;
      this.#settled.set(id, { state: "confirmed", automation_id: error.data.automation_id });
    } finally {
      await this.refresh();
    }
  }

  putAway(proposal, away) {
    if (away) this.putOff.add(proposal.proposal_id);
    else this.putOff.delete(proposal.proposal_id);
    this.#changed();
  }

  preview(schedule) {
    return this.connection.call("agents.automations.preview", { schedule });
  }

  #changed() {
    for (const listener of this.#listeners) listener();
  }
}
