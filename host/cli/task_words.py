"""A task's detail as a person reads it, section by section (T16)."""

from collections.abc import Iterable, Mapping
from typing import Any

from host.cli.printing import local_time, print_fields, print_heading, print_table, shown, write

Json = dict[str, Any]


def print_task(detail: Json) -> None:
    """Print the result of `agents.tasks.get`."""
    task = detail["task"]
    write(shown(task["title"], keep=""))
    print_fields(
        {
            "task": task["task_id"],
            "state": _with_reason(task),
            "why": task.get("reason_text"),
            "progress": task["progress"],
            "engine": f"{task['engine']}, {task['permission_mode']}",
            "part of": task["parent_task_id"],
            "created": local_time(task["created_at"]),
            "updated": local_time(task["updated_at"]),
        }
    )
    for requirement in detail["requirements"]:
        print_heading(f"Requirement {requirement['version']}")
        write(shown(requirement["instructions"]))
    _print_section("Attempts", ("attempt", "state", "started", "ended"), map(_attempt, detail["attempts"]))
    _print_section("Questions", ("question", "state", "text", "answer"), map(_question, detail["questions"]))
    _print_section("Stops", ("stop", "state", "outcome not known of"), map(_intent, detail["intents"]))
    _print_section("Effects", ("effect", "state", "what", "trail"), map(_effect, detail["effects"]))
    _print_section("Deliveries", ("delivery", "kind", "state", "message"), map(_delivery, detail["deliveries"]))
    if "result" in task:
        _print_result(task["result"])
    _print_section(
        "Workflows", ("workflow", "page"), ((entry["workflow_id"], entry["url"]) for entry in detail["workflows"])
    )


def _print_section(heading: str, columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> None:
    listed = list(rows)
    if listed:
        print_heading(heading)
        print_table(columns, listed)


def _print_result(result: Json) -> None:
    print_heading("Result")
    write(shown(result["summary"]))
    if result["artifacts"]:
        rows = [(file["artifact_id"], file["name"], file["size"], file["media_type"]) for file in result["artifacts"]]
        print_table(("file", "name", "bytes", "type"), rows)


def _with_reason(row: Mapping[str, Any]) -> str:
    return f"{row['state']} ({row['reason']})" if row.get("reason") else str(row["state"])


def _attempt(row: Json) -> tuple[object, ...]:
    name = f"{row['requirement_version']}.{row['attempt']}"
    return name, _with_reason(row), local_time(row["started_at"]), local_time(row["ended_at"])


def _effect(row: Json) -> tuple[object, ...]:
    steps = ", ".join(
        f"{step['step']}: {step['verdict']}" + (f" ({step['code']})" if "code" in step else "") for step in row["trail"]
    )
    return row["effect_id"], _with_reason(row), row["words"], steps


def _question(row: Json) -> tuple[object, ...]:
    return row["question_id"], row["state"], row["text"], row.get("answer")


def _intent(row: Json) -> tuple[object, ...]:
    state = row["state"] if "outcome" not in row else f"{row['state']}: {row['outcome']}"
    return row["intent_id"], state, ", ".join(row["unsettled"])


def _delivery(row: Json) -> tuple[object, ...]:
    return row["delivery_id"], row["kind"], _with_reason(row), row.get("message_seq")
