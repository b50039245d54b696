// The agents of this person, by name (api.md `agents.profiles`): who an automation may run as, and whose news is told.

import { listOf } from "./wire.js";

const TWIN = { agent_id: "twin", name: "Twin" };

export class AgentProfiles {
  #profiles = null;

  constructor(connection) {
    this.connection = connection;
  }

  // All of them, twin first; a host that lists none has twin.
  get all() {
    const others = (this.#profiles ?? []).filter((profile) => profile.agent_id !== TWIN.agent_id);
    return [this.#profiles?.find((profile) => profile.agent_id === TWIN.agent_id) ?? TWIN, ...others];
  }

  get enabled() {
    return this.all.filter((profile) => profile.enabled !== false);
  }

  name = (id) => this.all.find((profile) => profile.agent_id === id)?.name ?? id;

  // Reads them once; a failed reading is repeated the next time.
  async known() {
    if (!this.#profiles) await this.refresh();
  }

  async refresh() {
    this.#profiles = await this.connection.call("agents.profiles.list").then(listOf, () => this.#profiles);
  }
}
