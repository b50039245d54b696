"""A simple model of work and its control: what each event does, in a few lines of plain Python (T3, T8, T9, D3, S3).

It knows no rows and no lifecycle tables; the state machine test compares it with the real store after every event.
"""

from dataclasses import dataclass, field

TERMINAL = ("completed", "failed", "stopped")
STALE = {"stopping": "task_stopping", "waiting_user": "question_pending", "accepted": "invalid_params"} | dict.fromkeys(
    TERMINAL, "stale_result"
)


@dataclass
class Turn:
    """A turn of the conversation; `delivery_id` is None for an input's."""

    turn_id: str
    position: int
    delivery_id: str | None = None
    state: str = "queued"
    stop_requested: bool = False


@dataclass
class Delivery:
    """A delivery; `version` is the requirement version it is about."""

    delivery_id: str
    position: int
    version: int
    state: str = "waiting"
    turn_id: str | None = None


@dataclass
class Question:
    """A question; it has its first revision while it is open."""

    question_id: str
    version: int
    state: str = "open"


@dataclass
class Intent:
    """A stop intent of one requirement version."""

    intent_id: str
    version: int
    expected: str
    state: str = "accepted"
    outcome: str | None = None


@dataclass
class Task:
    """A task; `attempts` are the states of its versions' attempts, `began` the versions that began."""

    task_id: str
    state: str = "accepted"
    version: int = 1
    attempts: dict[int, str] = field(default_factory=lambda: {1: "running"})
    began: set[int] = field(default_factory=set)
    questions: list[Question] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    intents: list[Intent] = field(default_factory=list)

    @property
    def intent(self) -> Intent | None:
        """The intent of the current version."""
        return next((intent for intent in self.intents if intent.version == self.version), None)

    def refuses(self, version: int) -> str:
        """The code that a result, or a question, of this version gets; an empty text when it is taken."""
        if version != self.version:
            return "stale_result"
        return STALE.get(self.state, "")

    def refuses_failure(self, version: int) -> str:
        """The code that a failure of this version gets: unlike a result it may come at any time before the end."""
        if version != self.version:
            return "stale_result"
        return STALE[self.state] if self.state in ("stopping", *TERMINAL) else ""

    def end(self, state: str, attempt: str) -> None:
        """The current version's end; its open question is closed."""
        self.state, self.attempts[self.version] = state, attempt
        self.close_question()

    def close_question(self) -> None:
        """Nobody can answer any more."""
        for question in self.questions:
            if question.state == "open":
                question.state = "closed"

    def undelivered(self) -> list[Delivery]:
        """What a stop cancels: the current version's deliveries that are not final."""
        open_states = ("waiting", "submitted", "failed")
        return [row for row in self.deliveries if row.version == self.version and row.state in open_states]

    def refuses_resume(self) -> str:
        """The code that a resume gets."""
        if self.intent is not None and self.intent.state != "done":
            return "intent_active"
        return "" if self.state in TERMINAL else "task_active"

    def resume(self) -> None:
        """The next version, with an attempt of its own."""
        self.version += 1
        self.state, self.attempts[self.version] = "accepted", "running"


@dataclass
class Model:
    """All tasks and the conversation's queue."""

    tasks: dict[str, Task] = field(default_factory=dict)
    turns: dict[str, Turn] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    """The deliveries whose messages are in the conversation, in order."""

    def delivery(self, delivery_id: str | None) -> Delivery | None:
        """A delivery by its id."""
        rows = (row for task in self.tasks.values() for row in task.deliveries)
        return next((row for row in rows if row.delivery_id == delivery_id), None)

    def first(self, state: str) -> Turn | None:
        """The turn in this state that comes first."""
        found = [turn for turn in self.turns.values() if turn.state == state]
        return min(found, key=lambda turn: turn.position, default=None)

    def stop(self, task: Task, intent_id: str) -> None:
        """A new intent: effective at once for the task, its question and its undelivered replies."""
        undelivered = task.undelivered()
        expected = "stopped"
        if task.state in TERMINAL:
            nothing = task.state == "stopped" or not undelivered
            expected = "nothing_to_stop" if nothing else "already_terminal"
        else:
            task.state = "stopping"
        task.close_question()
        task.intents.append(Intent(intent_id, task.version, expected))
        for delivery in undelivered:
            delivery.state = "cancelled"
            turn = self.turns.get(delivery.turn_id or "")
            if turn is not None and turn.state == "queued":
                turn.state = "stopped"
            elif turn is not None and turn.state == "running":
                turn.stop_requested = True

    def reconcile(self, task: Task, intent: Intent) -> None:
        """Done as soon as no attempt and no cut reply runs; what never began is stopped by looking."""
        if intent.state == "done":
            return
        if task.state == "stopping" and task.version not in task.began:
            task.attempts[task.version] = "stopped"
        attempt_runs = task.state == "stopping" and task.attempts[task.version] == "running"
        cut = [self.turns[row.turn_id] for row in task.deliveries if row.state == "cancelled" and row.turn_id]
        if attempt_runs or any(turn.state in ("queued", "running") for turn in cut):
            intent.state = "reconciling"
            return
        intent.state, intent.outcome = "done", intent.expected
        if task.state == "stopping":
            task.state = "stopped"

    def end_turn(self, turn: Turn, wanted: str) -> None:
        """A turn's end, once; an accepted stop wins. Its delivery follows, if it is the one that carries it."""
        if turn.state != "running":
            return
        turn.state = "stopped" if turn.stop_requested else wanted
        delivery = self.delivery(turn.delivery_id)
        if delivery is None or delivery.state != "submitted" or delivery.turn_id != turn.turn_id:
            return
        delivery.state = "delivered" if turn.state == "completed" else "failed"
        if delivery.state == "delivered":
            self.told.append(delivery.delivery_id)
