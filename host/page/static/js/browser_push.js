// What this browser can and may do about notifications: show them while the page is open, and be pushed to while it is
// not (N9). Its state is read from the browser, never assumed.

import { language, onLanguage } from "./i18n.js";

const KEPT = "steward.push";
const WORKER = "/service-worker.js";

export class BrowserPush {
  #subscription = null;
  #told = false;
  #listeners = new Set();

  constructor({ connection, person }) {
    Object.assign(this, { connection, person });
    onLanguage(() => this.#registration().then((there) => there && this.#register()).catch(() => null));
  }

  onChange(listener) {
    this.#listeners.add(listener);
  }

  // unsupported, insecure, denied, default or granted.
  get pageState() {
    if (!isSecureContext) return "insecure";
    return "Notification" in window ? Notification.permission : "unsupported";
  }

  // unsupported, insecure, denied, unavailable, off or on.
  get state() {
    if (!isSecureContext) return "insecure";
    if (!("serviceWorker" in navigator && "PushManager" in window && "Notification" in window)) return "unsupported";
    if (Notification.permission === "denied") return "denied";
    if (this.#subscription && remembered()) return "on";
    return this.#key ? "off" : "unavailable";
  }

  get #key() {
    return this.person.values?.push?.application_server_key;
  }

  // Reads what holds in the browser. One that is subscribed is named to the host again once, so that a host that had
  // given it up knows it, and so does a page that was closed before the host had answered; one that lost its
  // subscription is given up on the host.
  async look() {
    const registration = await this.#registration().catch(() => null);
    this.#subscription = (await registration?.pushManager.getSubscription().catch(() => null)) ?? null;
    if ((this.#subscription || remembered()) && !this.#told) {
      this.#told = true;
      await (this.#subscription ? this.#name() : this.#giveUp()).catch(() => (this.#told = false));
    }
    this.#changed();
  }

  async askPermission() {
    await Notification.requestPermission();
    this.#changed();
  }

  // Subscribes this browser; rejects with the browser's or the host's refusal.
  async subscribe() {
    if ((await Notification.requestPermission()) !== "granted") return this.#changed();
    await this.#register();
    const { pushManager } = await navigator.serviceWorker.ready;
    const options = { userVisibleOnly: true, applicationServerKey: bytesOf(this.#key) };
    try {
      this.#subscription = await pushManager.subscribe(options);
    } catch (error) {
      if (error.name !== "InvalidStateError") throw error;
      // It is subscribed with the key of an installation that was here before.
      await (await pushManager.getSubscription())?.unsubscribe();
      this.#subscription = await pushManager.subscribe(options);
    }
    await this.#name();
    return this.#changed();
  }

  async unsubscribe() {
    await this.#subscription?.unsubscribe();
    this.#subscription = null;
    await this.#giveUp();
    this.#changed();
  }

  async #name() {
    const { endpoint, keys } = this.#subscription.toJSON();
    const { subscription_id: id } = await this.connection.request("device/push/register", { endpoint, keys: { p256dh: keys.p256dh, auth: keys.auth } });
    remember(id);
  }

  async #giveUp() {
    const id = remembered();
    remember(null);
    if (!id) return;
    await this.connection.request("device/push/unregister", { subscription_id: id }).catch((error) => {
      // The host has given it up already.
      if (error.code !== "not_found") throw error;
    });
  }

  #registration = async () => ("serviceWorker" in navigator && isSecureContext ? navigator.serviceWorker.getRegistration("/") : null);
  // The worker has no access to the page's language: it is told by its address.
  #register = () => navigator.serviceWorker.register(`${WORKER}?lang=${language()}`, { scope: "/" });

  #changed() {
    for (const listener of this.#listeners) listener();
  }
}

function remembered() {
  try {
    return localStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

function remember(id) {
  try {
    if (id) localStorage.setItem(KEPT, id);
    else localStorage.removeItem(KEPT);
  } catch {
    // A browser that keeps nothing shows itself as not subscribed after a reload.
  }
}

function bytesOf(base64url) {
  const text = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
