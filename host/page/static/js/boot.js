// Runs before the first paint: applies the kept theme and language so that nothing flashes. A classic script on purpose.
(() => {
  const root = document.documentElement;
  const kept = (key) => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  };
  const theme = kept("steward.theme");
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  const language = kept("steward.language") ?? (navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en");
  root.lang = language === "zh" ? "zh-CN" : "en";
})();
