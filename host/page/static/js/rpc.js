// JSON-RPC over one WebSocket that comes back by itself. The hard thing is losing nothing: a call stays pending across
// reconnects and its frame is sent again unchanged, so that a write finds the receipt of its own request id (H11, H13).

const PROTOCOL = 1;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 4_000;
const BUSY_WAIT_MS = 20_000;
const SILENCE_MS = 30_000;
const CLOSED_BUSY = 1013;

export class RpcError extends Error {
  constructor({ message, data }) {
    super(message);
    this.code = data?.code ?? "unknown";
    this.data = data ?? {};
  }
}

// A business request id (1-128 of [A-Za-z0-9._:-]). randomUUID is missing where a page is not served securely.
export function newRequestId() {
  if (crypto.randomUUID) return `page:${crypto.randomUUID()}`;
  return `page:${[...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

export class Connection {
  #socket = null;
  #ready = false;
  #lastId = 0;
  #pending = new Map();
  #failures = 0;
  #timer = 0;
  #heard = 0;
  #listeners = { event: new Set(), open: new Set(), state: new Set() };

  // `expected` is the binding the page was served for; a server that names another one is not called (H1).
  constructor({ url, client, expected }) {
    Object.assign(this, { url, client, expected, state: "connecting", session: null });
  }

  start() {
    this.#connect();
    const hurry = () => document.visibilityState === "visible" && this.#hurry();
    addEventListener("online", hurry);
    document.addEventListener("visibilitychange", hurry);
    setInterval(() => this.#watch(), SILENCE_MS / 3);
  }

  // Kinds: `event` (a notification's params), `open` (initialised again: catch up now), `state` (name, details).
  on(kind, listener) {
    this.#listeners[kind].add(listener);
  }

  // Calls a method of plugin `personal`; the answer may come after any number of reconnects.
  call(method, params = {}, { requestId, userInput } = {}) {
    const envelope = { plugin_id: "personal", method, params };
    if (requestId) envelope.request_id = requestId;
    if (userInput) envelope.user_input = userInput;
    return this.request("plugin/client/request", envelope);
  }

  // Calls one of the host's own methods, as `user-question/list` is; otherwise as `call`.
  request(method, params = {}) {
    return new Promise((resolve, reject) => this.#submit(method, params, { resolve, reject }));
  }

  #submit(method, params, handlers) {
    const id = ++this.#lastId;
    const call = { frame: JSON.stringify({ jsonrpc: "2.0", id, method, params }), sentAt: 0, ...handlers };
    this.#pending.set(id, call);
    if (this.#ready || method === "initialize") this.#transmit(call);
    return id;
  }

  #transmit(call) {
    call.sentAt = Date.now();
    this.#socket.send(call.frame);
  }

  #connect() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    const socket = new WebSocket(this.url);
    this.#socket = socket;
    let opened = false;
    socket.onopen = () => {
      opened = true;
      this.#initialize(socket);
    };
    socket.onmessage = (event) => this.#socket === socket && this.#receive(JSON.parse(event.data));
    socket.onclose = (event) => this.#socket === socket && this.#closed(event.code, opened);
  }

  #initialize(socket) {
    const params = { protocol_version: PROTOCOL, client: this.client };
    const id = this.#submit("initialize", params, {
      resolve: (result) => this.#initialized(socket, result),
      reject: (error) => this.#giveUp("refused", { message: error.message }),
    });
    socket.addEventListener("close", () => this.#pending.delete(id));
  }

  #initialized(socket, result) {
    if (this.#socket !== socket) return;
    const { user_space, product_domain } = this.expected;
    const moved = this.session && this.session.main_session_id !== result.main_session_id;
    if (result.user_space_id !== user_space || result.product_domain !== product_domain || moved) {
      this.#giveUp("binding");
      return;
    }
    this.session = result;
    this.#ready = true;
    this.#failures = 0;
    for (const call of this.#pending.values()) this.#transmit(call);
    this.#enter("online");
    this.#emit("open", result);
  }

  #receive(message) {
    this.#heard = Date.now();
    if (message.method === "plugin/client/event") this.#emit("event", message.params);
    const call = this.#pending.get(message.id);
    if (!call) return;
    this.#pending.delete(message.id);
    if (message.error) call.reject(new RpcError(message.error));
    else call.resolve(message.result);
  }

  #closed(code, opened) {
    this.#socket = null;
    this.#ready = false;
    if (this.state === "binding" || this.state === "refused") return;
    this.#enter(code === CLOSED_BUSY ? "busy" : "offline");
    const ceiling = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#failures++);
    const wait = code === CLOSED_BUSY ? BUSY_WAIT_MS : ceiling * (0.5 + Math.random() / 2);
    this.#timer = setTimeout(() => this.#connect(), wait);
    // A refused handshake looks like any failure to a page; only a plain request tells that the credential is gone.
    if (!opened) this.#askWhy();
  }

  async #askWhy() {
    const answer = await fetch("/", { method: "GET", cache: "no-store" }).catch(() => null);
    if (answer?.status === 401 && !this.#ready) this.#enter("unauthorized");
  }

  #giveUp(state, details) {
    this.#enter(state, details);
    this.#socket.close();
  }

  #hurry() {
    if (this.#timer) {
      this.#failures = 0;
      this.#connect();
    }
  }

  // A half-open connection never closes by itself: unanswered calls and silence together mean it is gone.
  #watch() {
    const now = Date.now();
    const waiting = [...this.#pending.values()].some((call) => call.sentAt && now - call.sentAt > SILENCE_MS);
    if (!this.#socket || !waiting || now - this.#heard < SILENCE_MS) return;
    const socket = this.#socket;
    socket.onclose = null;
    socket.close();
    this.#closed(1006, true);
  }

  #enter(state, details = {}) {
    this.state = state;
    this.#emit("state", state, details);
  }

  #emit(kind, ...values) {
    for (const listener of this.#listeners[kind]) listener(...values);
  }
}
