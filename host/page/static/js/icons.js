// The page's icons as strokes on a 24 grid; decoration only, so always hidden from assistive technology.

const PATHS = {
  mark: "M16.2 8.2c-.8-1.2-2.3-2-4.2-2-2.5 0-4.3 1.3-4.3 3.2 0 1.8 1.5 2.5 4.4 3 2.9.5 4.5 1.3 4.5 3.3s-1.9 3.2-4.6 3.2c-2 0-3.6-.8-4.4-2.1",
  chat: "M4.5 6.5a2 2 0 0 1 2-2h11a2 2 0 0 1 2 2v7.5a2 2 0 0 1-2 2h-5.5l-4.5 4v-4h-1a2 2 0 0 1-2-2z",
  sliders: "M5 7.5h8M17 7.5h2M5 16.5h2M11 16.5h8M15 5.3v4.4M9 14.3v4.4",
  tasks: "M4.5 6.5l1.5 1.5 2.5-3M4.5 16.5l1.5 1.5 2.5-3M12 6.8h7.5M12 16.8h7.5",
  clip: "M19 11.4l-7.3 7.2a4.4 4.4 0 0 1-6.2-6.2l7.6-7.5a2.9 2.9 0 0 1 4.1 4.1l-7.5 7.4a1.4 1.4 0 0 1-2-2l6.8-6.7",
  send: "M12 19V5.5M6 11.2l6-6 6 6",
  stop: "M8 8h8v8H8z",
  down: "M12 5v13.5M6.2 12.8l5.8 5.8 5.8-5.8",
  back: "M14.5 5.5L8 12l6.5 6.5",
  chevron: "M9.5 6l6 6-6 6",
  close: "M7 7l10 10M17 7L7 17",
  file: "M7 3.8h6.8L18 8v11a1.2 1.2 0 0 1-1.2 1.2H7.2A1.2 1.2 0 0 1 6 19V5a1.2 1.2 0 0 1 1-1.2zM13.5 4v4.3H18",
  edit: "M5 19l.9-3.8L15.8 5.3a1.6 1.6 0 0 1 2.3 0l.6.6a1.6 1.6 0 0 1 0 2.3L8.8 18.1z",
  command: "M5.5 7.5l4.5 4.5-4.5 4.5M12.5 16.8h6",
  connector: "M9 4.5v4M15 4.5v4M7 8.5h10v3a5 5 0 0 1-10 0zM12 16.5v3.5",
  save: "M12 4.5v10.2M7.6 10.6l4.4 4.4 4.4-4.4M5 19.3h14",
  check: "M5.5 12.5l4.2 4.2 8.8-9.2",
  clock: "M12 4.5a7.5 7.5 0 1 0 0 15 7.5 7.5 0 0 0 0-15zM12 8v4.3l2.8 1.9",
  bell: "M6.3 16.5v-5a5.7 5.7 0 0 1 11.4 0v5l1.3 1.5H5zM10 20.3h4",
  alert: "M12 5l8 14H4zM12 10.3v3.9M12 16.6v.1",
  question: "M9 9.3a3 3 0 1 1 4.4 2.7c-1 .5-1.4 1-1.4 2.1M12 17.2v.1",
  shield: "M12 4l6.5 2.3v5.2c0 4-2.6 6.9-6.5 8.5-3.9-1.6-6.5-4.5-6.5-8.5V6.3z",
  sun: "M12 8.2a3.8 3.8 0 1 0 0 7.6 3.8 3.8 0 0 0 0-7.6zM12 3v1.8M12 19.2V21M3 12h1.8M19.2 12H21M5.6 5.6l1.3 1.3M17.1 17.1l1.3 1.3M5.6 18.4l1.3-1.3M17.1 6.9l1.3-1.3",
  moon: "M19 14.2A7.6 7.6 0 0 1 9.8 5a7.6 7.6 0 1 0 9.2 9.2z",
  copy: "M9 9h9.5v10.5H9zM15 9V4.8H5.5v10.5H9",
  retry: "M18.5 12a6.5 6.5 0 1 1-2-4.7M18.5 4.5v3.7h-3.7",
  external: "M10 5.5H5.5v13h13V14M13.5 5h5.5v5.5M19 5l-8 8",
  arrow: "M5 12h13.5M13 6.5l5.5 5.5-5.5 5.5",
};

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", `icon icon-${name}`);
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

export function fillIcons(root) {
  for (const place of root.querySelectorAll("[data-icon]")) place.replaceChildren(icon(place.dataset.icon));
}
