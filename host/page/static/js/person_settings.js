// The person's own settings on the host (api.md `agents.settings`): read on notice, changed under the revision that was
// shown.

import { language } from "./i18n.js";
import { newRequestId } from "./rpc.js";
import { isLocalPage } from "./wire.js";

export class PersonSettings {
  #listeners = new Set();
  values = null;
  failure = null;

  constructor(connection) {
    this.connection = connection;
  }

  onChange(listener) {
    this.#listeners.add(listener);
  }

  async refresh() {
    try {
      const answer = await this.connection.call("agents.settings.get");
      this.values = answer.settings ?? answer;
      this.failure = null;
    } catch (error) {
      this.failure = error;
    }
    this.#changed();
  }

  // Changes some of them; rejects with the refusal after reading what holds now.
  async update(changes) {
    try {
      await this.connection.call("agents.settings.update", { expected_revision: this.values.revision, changes }, { requestId: newRequestId() });
    } finally {
      await this.refresh();
    }
  }

  // The language that was chosen on this page is the one that the host writes in from now on.
  async keepLanguage() {
    if (!isLocalPage || !this.values || this.values.language === language()) return;
    await this.update({ language: language() }).catch(() => null);
  }

  #changed() {
    for (const listener of this.#listeners) listener();
  }
}
