// Which replies are under way, as notifications tell it, and the text streamed so far. Nothing here is the truth: a
// stored message replaces it. After a reconnect the host tells running replies anew (a reset, then their whole text);
// of the others the receipts say whether they have ended meanwhile (C4, H13).

const LIVE = new Set(["queued", "running"]);

export class Turns {
  #turns = new Map();
  #ended = new Set();
  #listeners = new Set();

  constructor(connection) {
    this.connection = connection;
  }

  // Listeners get (turn id, what happened): `state`, `delta` with the added text, `reset`, `ended` with the state.
  on(listener) {
    this.#listeners.add(listener);
  }

  get running() {
    return [...this.#turns].find(([, turn]) => turn.state === "running")?.[0] ?? null;
  }

  stateOf(turnId) {
    return this.#turns.get(turnId)?.state ?? null;
  }

  // Takes a notification; false where its topic is not about turns.
  take({ topic, turn_id: id, text, state }) {
    if (topic === "turn.delta") this.#delta(id, text);
    else if (topic === "turn.reset") this.#reset(id);
    else if (topic === "turn.state") this.#state(id, state);
    else return false;
    return true;
  }

  // A turn that a receipt calls accepted. `partial`: it began before this page listened, so text may be missing.
  noteAccepted(turnId, requestId, partial) {
    if (this.#ended.has(turnId)) return;
    const turn = this.#turns.get(turnId);
    if (turn) turn.requestId = requestId;
    else this.#set(turnId, { state: this.running ? "queued" : "running", text: "", partial, requestId });
  }

  end(turnId, state = "completed") {
    this.#turns.delete(turnId);
    this.#ended.add(turnId);
    this.#tell(turnId, "ended", state);
  }

  // On every new connection, before its first notification: streamed text may have a gap now, and ends may be missed.
  doubt() {
    for (const [id, turn] of this.#turns) {
      Object.assign(turn, { text: "", partial: true, confirmed: false });
      this.#tell(id, "reset");
    }
  }

  // Drops what is neither told anew nor still open by its receipt.
  async recheck(hasReply) {
    for (const [id, turn] of [...this.#turns]) {
      const open = turn.confirmed || (turn.requestId && (await this.#isOpen(turn.requestId)));
      if (!hasReply(id) && (open || this.#turns.get(id)?.confirmed)) continue;
      this.#turns.delete(id);
      this.#tell(id, "ended", "unseen");
    }
  }

  async #isOpen(requestId) {
    try {
      return (await this.connection.call("agents.receipt", { request_id: requestId })).receipt.state === "accepted";
    } catch {
      return false;
    }
  }

  #set(id, turn) {
    this.#turns.set(id, turn);
    this.#tell(id, "state", turn.state);
  }

  #delta(id, text) {
    if (this.#ended.has(id)) return;
    if (!this.#turns.has(id)) this.#set(id, { state: "running", text: "", partial: true });
    const turn = this.#turns.get(id);
    if (turn.state !== "running") this.#state(id, "running");
    turn.confirmed = true;
    const added = turn.partial && !turn.text ? `… ${text}` : text;
    turn.text += added;
    this.#tell(id, "delta", added);
  }

  #reset(id) {
    if (this.#ended.has(id)) return;
    const turn = this.#turns.get(id);
    this.#turns.set(id, { ...turn, state: "running", text: "", partial: false, confirmed: true });
    this.#tell(id, "reset");
  }

  #state(id, state) {
    const turn = this.#turns.get(id);
    if (!LIVE.has(state)) this.end(id, state);
    else this.#set(id, { text: "", ...turn, partial: Boolean(turn?.text && turn.partial), confirmed: true, state });
  }

  #tell(...what) {
    for (const listener of this.#listeners) listener(...what);
  }
}
