// Where the focus goes when what was pressed is gone: a card that was decided, a form that has done its work.

// To what this card became, else to the next card, else to the composer.
export function keepFocus(root) {
  if (document.activeElement && document.activeElement !== document.body) return;
  const next = document.querySelectorAll(".approval-actions button, .approval-actions textarea");
  const places = [root.querySelector(".approval-state, .approval-actions button, .approval-actions textarea"), ...next, document.getElementById("composer-text")];
  places.find((place) => place?.isConnected && place.checkVisibility())?.focus({ preventScroll: true });
}

// Remembers the focused part of `root` (by data-focus) with its selection; the result gives it back to what was built
// anew in its place, to the part named `wanted` where one is, else to `fallback`. Focus elsewhere is left there.
export function focusMemory(root) {
  const { activeElement: active, body } = document;
  const inside = root.contains(active);
  const key = inside ? active.closest("[data-focus]")?.dataset.focus : null;
  // Fields of other kinds than text have no selection, and say so with null.
  const selection = key && typeof active.selectionStart === "number" ? [active.selectionStart, active.selectionEnd] : null;
  return ({ wanted, fallback }) => {
    if (!key && !(wanted && (inside || !active || active === body))) return;
    const find = (name) => name && root.querySelector(`[data-focus="${CSS.escape(name)}"]`);
    const target = find(wanted) ?? find(key);
    (target ?? fallback).focus({ preventScroll: true });
    if (selection && target?.dataset.focus === key) target.setSelectionRange(...selection);
  };
}
