// Saved decisions: what always goes on, and what is always asked (E5-E7). Saving one and deciding a card are two writes.

import { newRequestId } from "./rpc.js";
import { listOf } from "./wire.js";

const MAX_PAGES = 10;

export class RuleBook {
  #rules = [];
  #listeners = new Set();
  loaded = false;

  constructor(connection) {
    this.connection = connection;
  }

  onChange(listener) {
    this.#listeners.add(listener);
  }

  get rules() {
    return this.#rules;
  }

  async refresh() {
    const rules = [];
    let cursor = null;
    for (let page = 0; page < MAX_PAGES; page++) {
      const answer = await this.connection.call("agents.rules.list", cursor ? { cursor } : {});
      rules.push(...listOf(answer));
      cursor = answer.next_cursor;
      if (!cursor) break;
    }
    this.#rules = rules;
    this.loaded = true;
    for (const listener of this.#listeners) listener();
  }

  // What a rule made from this card would cover: {scope, scope_digest, words}.
  preview(approvalId) {
    return this.connection.call("agents.rules.preview", { approval_id: approvalId });
  }

  // Saves exactly the scope that was shown. Whether it is saved is what the host says afterwards (E7).
  async save(approvalId, preview, mode) {
    const params = { approval_id: approvalId, scope_digest: preview.scope_digest, mode };
    try {
      await this.connection.call("agents.rules.save", params, { requestId: newRequestId() });
    } catch (error) {
      await this.refresh().catch(() => null);
      const wanted = canonical(preview.scope);
      if (!this.#rules.some((rule) => rule.mode === mode && canonical(rule.scope) === wanted)) throw error;
    }
    await this.refresh().catch(() => null);
  }
}

function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (value && typeof value === "object") return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)}}`;
  return JSON.stringify(value);
}
