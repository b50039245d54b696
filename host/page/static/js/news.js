// News that the host announces (N7, N9): a notification of the browser while the window is not in front, a count in the
// title and at the conversation's entry until it was seen. Said is that there is news, never what.

import { announce } from "./announcer.js";
import { count, number, onLanguage, t } from "./i18n.js";
import { isFocused } from "./seen.js";
import { countInTitle } from "./title.js";

const REMEMBERED = 200;
const byId = (id) => document.getElementById(id);

export class News {
  #unseen = new Map();
  #known = new Set();

  // `settled(locator)` says that what it names needs no one any more; `inView(seq)` that the person has it before them.
  constructor({ seen, book, inView, settled }) {
    Object.assign(this, { inView, settled });
    seen.onSeen((upTo) => this.#forget(({ kind, seq }) => kind === "message" && seq <= upTo));
    book.onChange(() => this.#forget(settled));
    onLanguage(() => this.#show());
    addEventListener("focus", () => this.#forget(settled));
  }

  // Takes an event `notification`; `ready` is done when the page has read what it is about.
  async take({ group_id: group, agent_id: agent, locator }, ready) {
    if (this.#known.has(group)) return;
    this.#known.add(group);
    if (this.#known.size > REMEMBERED) this.#known.delete(this.#known.values().next().value);
    if (!isFocused()) this.#notify(agent, locator);
    await ready;
    if (isFocused() && locator.kind === "message" && this.inView(locator.seq)) return;
    if (this.settled(locator)) return;
    this.#unseen.set(group, locator);
    this.#show();
    if (isFocused()) announce(t("news.twin"));
  }

  #notify(agent, locator) {
    if (!("Notification" in window) || Notification.permission !== "granted") return;
    const options = { tag: `steward:${agent}`, icon: document.querySelector("link[rel=icon]").href, data: { place: placeOf(locator) } };
    try {
      const shown = new Notification(t("news.twin"), options);
      shown.onclick = () => {
        window.focus();
        shown.close();
        go(locator);
      };
    } catch {
      // Some browsers of phones show notifications only through the service worker, which is there with Web Push.
      navigator.serviceWorker?.getRegistration("/").then((worker) => worker?.showNotification(t("news.twin"), options)).catch(() => null);
    }
  }

  #forget(isOver) {
    for (const [group, locator] of this.#unseen) if (isOver(locator)) this.#unseen.delete(group);
    this.#show();
  }

  #show() {
    const n = this.#unseen.size;
    countInTitle("news", n);
    for (const badge of [byId("nav-news"), byId("phone-news")]) {
      badge.hidden = n === 0;
      badge.textContent = number(n);
      badge.ariaLabel = n ? count("news.count", n) : "";
    }
  }
}

// The page's own address of a locator: a message, or a card beside the conversation.
export function placeOf(locator) {
  if (locator?.kind === "message" && Number.isInteger(locator.seq)) return `#/message/${locator.seq}`;
  return locator?.card_id?.startsWith("approval_") ? `#/approval/${encodeURIComponent(locator.card_id)}` : "#/";
}

export function go(locator) {
  location.hash = placeOf(locator);
}
