// Speaks to screen readers: one polite status line for what is not said by an element of its own. What was said is not
// said again in another language: after a switch the line is empty.

import { onLanguage } from "./i18n.js";

const line = () => document.getElementById("announcer");

export function announce(words) {
  line().textContent = words;
}

onLanguage(() => announce(""));
