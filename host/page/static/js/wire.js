// Small readings of the wire contract that several views share.

// A list's items, whether it is paged or plain.
export const listOf = (answer) => (Array.isArray(answer) ? answer : (answer?.items ?? []));

export const isLive = (task) => !["completed", "failed", "stopped"].includes(task.state);

// Whether this page was reached as one on the host's own machine: what only the owner there may do is offered (P14).
export const isLocalPage = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);

// UTF-8 length of a text: the contract's limits count bytes, not characters (C8).
export const utf8Length = (text) => new TextEncoder().encode(text).length;

// sessionStorage that forgets instead of failing where a browser forbids it or it is full.
export const kept = {
  read(key, fallback) {
    try {
      return JSON.parse(sessionStorage.getItem(key)) ?? fallback;
    } catch {
      return fallback;
    }
  },
  write(key, value) {
    try {
      sessionStorage.setItem(key, JSON.stringify(value));
    } catch {
      // The text is still in the field; only a reload would lose it.
    }
  },
};
