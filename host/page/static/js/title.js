// The number in the window's title: all that waits for the person, and all news that was not seen.

const counts = new Map();

export function countInTitle(kind, n) {
  counts.set(kind, n);
  const total = [...counts.values()].reduce((sum, each) => sum + each, 0);
  document.title = total ? `(${total}) Steward` : "Steward";
}
