// The service worker (N9): a push becomes one notification that says only that there is news, and a click on it leads to
// the page. It stores nothing and answers no request of the page.

const WORDS = { en: "Twin has news", zh: "Twin 有新消息" };
const words = WORDS[new URL(self.location.href).searchParams.get("lang")] ?? WORDS.en;

self.addEventListener("push", (event) => {
  const news = read(event.data);
  // The same tag takes the place of an earlier notification, so that a repeated push is seen once.
  event.waitUntil(self.registration.showNotification(words, { tag: `steward:${news.agent_id ?? "twin"}`, data: { place: placeOf(news.locator) } }));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(show(event.notification.data?.place ?? "#/"));
});

function read(data) {
  try {
    const news = data?.json();
    return news && typeof news === "object" ? news : {};
  } catch {
    return {};
  }
}

function placeOf(locator) {
  if (locator?.kind === "message" && Number.isInteger(locator.seq)) return `#/message/${locator.seq}`;
  return typeof locator?.card_id === "string" && locator.card_id.startsWith("approval_") ? `#/approval/${encodeURIComponent(locator.card_id)}` : "#/";
}

// To the page that is open, else to a new one.
async function show(place) {
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const page = pages.find((candidate) => new URL(candidate.url).pathname === "/");
  if (!page) return self.clients.openWindow(`/${place}`);
  page.postMessage({ place });
  return page.focus();
}
