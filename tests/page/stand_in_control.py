"""The stand-in's questions, stops, resumes, retries and settlements: rows a test puts in, changed as the host would.

A stop stays accepted until the test moves it on (`finish_stop`), so that every state can be looked at.
"""

from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]
SESSION = "session_main"
TERMINAL = {"completed", "failed", "stopped"}


def iso(moment: datetime | None = None) -> str:
    return (moment or datetime.now(UTC)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Refusal(Exception):
    """A product error the stand-in answers with."""

    def __init__(self, code: str, message: str = "Refused by the script.", **details: Any) -> None:
        super().__init__(code)
        self.code, self.message, self.details = code, message, details


class ControlRows:
    """What a person does about tasks."""

    def __init__(self) -> None:
        self.questions: dict[str, Json] = {}
        self.tasks: dict[str, Json] = {}
        self.effects: list[Json] = []

    def add_question(self, question_id: str, text: str, *options: str, **fields: Any) -> Json:
        """Store an open question of a task."""
        question: Json = {
            "question_id": question_id,
            "revision": 1,
            "task_id": "task_1",
            "session_id": None,
            "message_seq": None,
            "text": text,
            "options": [{"id": f"option_{place}", "label": label} for place, label in enumerate(options, 1)],
            "allow_text": True,
            "created_at": iso(),
            "state": "open",
            **fields,
        }
        self.questions[question_id] = question
        return question

    def finish_stop(self, task_id: str, outcome: str = "stopped", unsettled: list[str] | None = None) -> None:
        """End the newest stop of a task."""
        detail = self.tasks[task_id]
        detail["intents"][-1].update(state="done", outcome=outcome, unsettled=unsettled or [])
        if outcome == "stopped":
            detail["task"]["state"] = "stopped"

    def _do_question_list(self, params: Json, _: Json) -> Json:
        rows = [row for row in self.questions.values() if row["state"] == params.get("state", row["state"])]
        return {"items": rows[::-1], "next_cursor": None}

    def _do_question_respond(self, params: Json, _: Json) -> Json:
        question, answer = self._open_question(params), params["answer"]
        labels = {option["id"]: option["label"] for option in question["options"]}
        question.update(state="answered", answer=answer.get("text") or labels[answer["option_id"]])
        question["revision"] += 1
        return {"receipt": {"state": "done"}}

    def _do_question_cancel(self, params: Json, _: Json) -> Json:
        question = self._open_question(params)
        question.update(state="cancelled", revision=question["revision"] + 1)
        return {"receipt": {"state": "done"}}

    def _open_question(self, params: Json) -> Json:
        question = self.questions.get(params["question_id"])
        if question is None:
            raise Refusal("not_found")
        if question["state"] != "open":
            raise Refusal("question_closed", state=question["state"])
        if question["revision"] != params["revision"]:
            raise Refusal("revision_conflict", revision=question["revision"])
        return question

    def _task(self, params: Json) -> Json:
        if params["task_id"] not in self.tasks:
            raise Refusal("not_found")
        return self.tasks[params["task_id"]]

    def _do_agents_tasks_get(self, params: Json, _: Json) -> Json:
        return self._task(params)

    def _do_agents_tasks_list(self, params: Json, _: Json) -> Json:
        rows = [detail["task"] for detail in self.tasks.values()]
        wanted = [row for row in rows if row["state"] == params.get("state", row["state"])]
        return {"items": wanted, "next_cursor": None}

    def _do_agents_tasks_stop(self, params: Json, _: Json) -> Json:
        detail, task_id = self._task(params), params["task_id"]
        intents = detail.setdefault("intents", [])
        if not intents:
            intent: Json = {"intent_id": f"intent_of_{task_id}", "task_id": task_id, "state": "accepted"}
            intents.append({**intent, "covered": [task_id], "unsettled": []})
            if detail["task"]["state"] not in TERMINAL:
                detail["task"]["state"] = "stopping"
        return {"receipt": {"state": "done"}, "intent": intents[-1]}

    def _do_agents_intents_get(self, params: Json, _: Json) -> Json:
        for detail in self.tasks.values():
            for intent in detail.get("intents", []):
                if intent["intent_id"] == params["intent_id"]:
                    return {"intent": intent}
        raise Refusal("not_found")

    def _do_agents_tasks_resume(self, params: Json, _: Json) -> Json:
        task = self._task(params)["task"]
        if task["state"] not in TERMINAL:
            raise Refusal("task_active")
        task.update(state="accepted", requirement_version=task.get("requirement_version", 1) + 1)
        return {"receipt": {"state": "done"}, "task": task}

    def _do_agents_tasks_retry_delivery(self, params: Json, _: Json) -> Json:
        for detail in self.tasks.values():
            for delivery in detail.get("deliveries", []):
                if delivery["delivery_id"] == params["delivery_id"]:
                    if delivery["state"] != "failed":
                        raise Refusal("delivery_not_failed", state=delivery["state"])
                    delivery.update(state="submitted", reason=None)
                    return {"receipt": {"state": "done"}, "delivery": delivery}
        raise Refusal("not_found")

    def _do_agents_effects_list(self, params: Json, _: Json) -> Json:
        of_tasks = [effect for detail in self.tasks.values() for effect in detail.get("effects", [])]
        every = [*self.effects, *of_tasks]
        wanted = [effect for effect in every if effect["state"] == params.get("state", effect["state"])]
        return {"items": wanted, "next_cursor": None}

    def _do_agents_effects_settle(self, params: Json, _: Json) -> Json:
        of_tasks: list[Json] = [effect for detail in self.tasks.values() for effect in detail.get("effects", [])]
        for effect in [*self.effects, *of_tasks]:
            if effect["effect_id"] == params["effect_id"]:
                effect["state"] = params["outcome"]
                return effect
        raise Refusal("not_found")
