// The tasks this page has heard of, and which messages each was asked in: so that what a task needs can stand where the
// person handed it over (A11).

import { isLive } from "./wire.js";

export class TaskBook {
  #tasks = new Map();
  #askedIn = new Map();
  #listeners = new Set();

  constructor(connection) {
    this.connection = connection;
  }

  onChange(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  task = (id) => this.#tasks.get(id);

  get live() {
    return [...this.#tasks.values()].filter(isLive);
  }

  // Whether a permission of its own can be given to this task: a part of another one acts under that one's (A15).
  mayBeAllowed(id) {
    const task = this.#tasks.get(id);
    return Boolean(task) && isLive(task) && task.state !== "stopping" && !task.parent_task_id && task.permission_mode !== "read_only";
  }

  // Takes summaries of tasks as they are now.
  take(tasks) {
    for (const task of tasks) this.#tasks.set(task.task_id, task);
    this.#changed();
  }

  // Sequences of the messages in which this task was asked for; looked for once for each requirement.
  askedIn(id) {
    const key = `${id}@${this.#tasks.get(id)?.requirement_version ?? 1}`;
    if (!this.#askedIn.has(key)) {
      this.#askedIn.set(key, []);
      this.#look(id, key);
    }
    return this.#askedIn.get(key);
  }

  async #look(id, key) {
    try {
      const { requirements = [] } = await this.connection.call("agents.tasks.get", { task_id: id });
      this.#askedIn.set(key, requirements.flatMap(({ source }) => source?.message_seqs ?? []));
      this.#changed();
    } catch {
      // What the task needs stands in the right column then.
    }
  }

  #changed() {
    for (const listener of this.#listeners) listener();
  }
}
