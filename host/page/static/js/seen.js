// How far the person has seen the conversation (N2): a message counts while it is visible in a focused window. Only the
// newest messages are looked at, so that reading history far above says nothing about what came since.

const NEWEST = 10;
const QUIET_MS = 400;
const ENOUGH = 0.5;

export class Seen {
  #observer;
  #visible = new Set();
  #sent = 0;
  #timer = 0;
  #listeners = new Set();

  constructor({ connection, scroller, thread }) {
    Object.assign(this, { connection, thread });
    this.#observer = new IntersectionObserver((entries) => this.#moved(entries), { root: scroller, threshold: [0, 0.25, ENOUGH, 0.75, 1] });
    addEventListener("focus", () => this.#look());
    document.addEventListener("visibilitychange", () => this.#look());
  }

  // `listener(upTo)` is told how far the person has seen.
  onSeen(listener) {
    this.#listeners.add(listener);
  }

  // Looks at the newest messages as they are on screen now.
  watch() {
    this.#observer.disconnect();
    this.#visible.clear();
    for (const { seq } of this.thread.messages().slice(-NEWEST)) this.#observer.observe(this.thread.node(seq));
  }

  #moved(entries) {
    for (const { target, isIntersecting, intersectionRatio: ratio, intersectionRect: part, rootBounds: room } of entries) {
      // Of a message that is taller than the window a part that fills half of it is enough.
      const shown = isIntersecting && (ratio >= ENOUGH || part.height >= (room?.height ?? Infinity) * ENOUGH);
      if (shown) this.#visible.add(Number(target.dataset.seq));
      else this.#visible.delete(Number(target.dataset.seq));
    }
    this.#look();
  }

  // Several messages that come into view in one moment are told once.
  #look() {
    if (!isFocused() || this.#newest() <= this.#sent || this.#timer) return;
    this.#timer = setTimeout(() => this.#tell(), QUIET_MS);
  }

  async #tell() {
    this.#timer = 0;
    const upTo = this.#newest();
    if (!isFocused() || upTo <= this.#sent || !this.connection.session) return;
    const before = this.#sent;
    this.#sent = upTo;
    for (const listener of this.#listeners) listener(upTo);
    const params = { session_id: this.connection.session.main_session_id, up_to_seq: upTo };
    try {
      await this.connection.call("agents.seen", params);
    } catch {
      // Told again with the next message that comes into view.
      this.#sent = Math.min(this.#sent, before);
    }
  }

  #newest = () => Math.max(0, ...this.#visible);
}

// Whether the person has this window in front.
export const isFocused = () => document.visibilityState === "visible" && document.hasFocus();
