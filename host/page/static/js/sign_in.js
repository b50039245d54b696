// The page without a credential looks again by itself. A strict cookie is not sent on the way from another site to
// this one, so a link opened from a web mail lands here first although it has just signed this browser in (H19).

async function look() {
  if (document.visibilityState !== "visible") return;
  const answer = await fetch("/", { cache: "no-store" }).catch(() => null);
  if (answer?.ok) location.replace("/");
}

document.addEventListener("visibilitychange", look);
look();
