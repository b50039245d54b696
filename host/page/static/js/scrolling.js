// Where the conversation stands: it follows the end while the reader is there, and never moves what the reader reads.

const NEAR_END = 72;

export class Scrolling {
  #following = true;
  #lastTop = 0;

  constructor({ scroller, content, toLatest, onTop }) {
    Object.assign(this, { scroller, toLatest });
    scroller.addEventListener("scroll", () => this.#look(), { passive: true });
    toLatest.addEventListener("click", () => this.toEnd(true));
    new ResizeObserver(() => this.#follow()).observe(content);
    new ResizeObserver(() => this.#follow()).observe(scroller);
    this.onTop = onTop;
  }

  toEnd(smooth = false) {
    this.#following = true;
    this.toLatest.hidden = true;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.scroller.scrollTo({ top: this.scroller.scrollHeight, behavior: smooth && !calm ? "smooth" : "instant" });
  }

  // Awaits a change that adds content above, then puts what was on screen where it was.
  async holding(change) {
    const below = this.scroller.scrollHeight - this.scroller.scrollTop;
    await change();
    if (!this.#following) this.scroller.scrollTop = this.scroller.scrollHeight - below;
  }

  toNode(node) {
    this.#following = false;
    node.scrollIntoView({ block: "center", behavior: "instant" });
    node.focus({ preventScroll: true });
  }

  // Only a move upwards is the reader's wish to leave the end: content that arrives meanwhile moves the end itself.
  #look() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    // Out of sight (another view or pane) there is no place to judge.
    if (clientHeight === 0) return;
    const nearEnd = scrollHeight - scrollTop - clientHeight < NEAR_END;
    this.#following = nearEnd || (this.#following && scrollTop >= this.#lastTop);
    this.#lastTop = scrollTop;
    this.toLatest.hidden = this.#following;
    if (scrollTop < clientHeight) this.onTop();
  }

  #follow() {
    if (this.scroller.clientHeight === 0) return;
    if (!this.#following) this.#look();
    else if (this.scroller.scrollHeight > this.scroller.clientHeight) this.scroller.scrollTop = this.scroller.scrollHeight;
    else this.onTop();
  }
}
