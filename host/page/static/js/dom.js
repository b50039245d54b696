// Builds and reconciles elements. Text is always set as text; the one place that takes HTML is `sanitised`.

export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "on") for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    else if (name === "data") Object.assign(node.dataset, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// `html` was rendered and sanitised by the server; a template keeps it inert until the links are made safe to open.
export function sanitised(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  for (const link of template.content.querySelectorAll("a[href]")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
  }
  return template.content;
}

// Shows `items` in `container`, keeping a node as long as its item is unchanged, so that focus and open parts survive.
export function reconcile(container, items, keyOf, render) {
  const before = new Map([...container.children].map((node) => [node.dataset.key, node]));
  const focused = container.contains(document.activeElement) ? document.activeElement.closest("[data-key]")?.dataset.key : null;
  const nodes = items.map((item) => {
    const key = keyOf(item);
    const shape = JSON.stringify([document.documentElement.lang, item]);
    const old = before.get(key);
    if (old && old.shape === shape) return old;
    const node = render(item);
    node.dataset.key = key;
    node.shape = shape;
    return node;
  });
  if (nodes.length === container.children.length && nodes.every((node, i) => node === container.children[i])) return;
  container.replaceChildren(...nodes);
  if (focused) {
    const again = nodes.find((node) => node.dataset.key === focused);
    (again?.matches("a,button") ? again : again?.querySelector("a,button"))?.focus({ preventScroll: true });
  }
}
