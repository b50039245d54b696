// Light, dark, or as the system says; kept in this browser only. boot.js applies the kept choice before first paint.

const listeners = new Set();
const system = matchMedia("(prefers-color-scheme: dark)");

export const theme = {
  get chosen() {
    return document.documentElement.dataset.theme ?? "system";
  },
  get isDark() {
    return this.chosen === "system" ? system.matches : this.chosen === "dark";
  },
  choose(value) {
    if (value === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = value;
    try {
      localStorage.setItem("steward.theme", value);
    } catch {
      // Without storage the choice holds until the page is closed.
    }
    for (const listener of listeners) listener();
  },
  onChange(listener) {
    listeners.add(listener);
    system.addEventListener("change", listener);
  },
};
