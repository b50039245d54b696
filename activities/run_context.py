"""What a model step is shown, put together from rows (C6): each kind of run has its own items and its own tools."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo

from assistant.context import AssembledContext, assemble
from assistant.deliveries import (
    DeliveryDetails,
    DeliveryKind,
    delivery_items,
    language_of,
    reason_in_words,
    verbatim_delivery,
)
from assistant.prompts import (
    DELIVERY_SYSTEM,
    MAIN_SYSTEM,
    AttachmentLine,
    Clock,
    QuestionLine,
    attachments_note,
    clock_note,
    effect_unknown_note,
    executor_system,
    questions_note,
    submit_result_reminder,
)
from assistant.tools import ToolSpec, tools_for
from contracts.model_io import AssistantStep, ContextItem, HostNote, ToolCall, ToolResult, UserText
from domain.file_names import working_copy_path
from domain.run import RunKind, RunRef
from domain.turn import TurnKind, TurnState
from domain.wall_time import wall_time
from store.agent_profiles import instructions_of
from store.control_views import open_questions
from store.database import Transaction
from store.person_zone import person_zone
from store.run_reading import (
    EARLIER_TURNS,
    DeliveredFact,
    EarlierTurn,
    Thread,
    delivered_fact,
    requirement_of,
    thread_of,
    unknown_effects_before,
)
from store.run_steps import Step
from store.tables_conversation import AttachmentRow, TurnRow
from store.tasks import task_row
from store.turns import turn_row

Role = Literal["main", "task"]
_KINDS: dict[str, DeliveryKind] = {
    "result": "result", "failure": "failure", "question": "question", "authorization": "authorization",
    "notice": "notice",
}  # fmt: skip

DELIVERY_TURNS = 12
"""Wording a result takes the thread of late, not all history; and everything queued waits while it is worded."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One model step ready to be asked: context, tools, which model, and what to say when none answers (D4)."""

    context: AssembledContext
    tools: Sequence[ToolSpec]
    role: Role
    said_before: str = ""
    without_model: str | None = None


async def model_call(tx: Transaction, run: RunRef, steps: Sequence[Step], budget_tokens: int) -> ModelCall:
    """Put together the model step of a run that follows its stored `steps`."""
    if run.kind is RunKind.ATTEMPT:
        return await _attempt_call(tx, run, steps, budget_tokens)
    turn = await turn_row(tx, run.turn_id or "")
    if turn.kind == TurnKind.DELIVERY.value:
        thread = await thread_of(tx, turn, DELIVERY_TURNS)
        return await _delivery_call(tx, turn, _history(thread, DELIVERY_TURNS), budget_tokens)
    thread = await thread_of(tx, turn, EARLIER_TURNS)
    history, said = _history(thread, EARLIER_TURNS), thread.said
    asked = await _questions_note(tx)
    current = [
        *asked,
        *([] if said is None else [await _clock_note(tx, said.time)]),
        *_note(thread.attachments),
        *_said(said.text if said else "", turn.input_seq),
        *_step_items(steps),
    ]
    spoken = [step.row.text for step in steps if step.row.turn_id == turn.turn_id and step.row.text.strip()]
    context = assemble(MAIN_SYSTEM, history, current, budget_tokens)
    return ModelCall(context, tools_for("main"), "main", said_before="\n\n".join(spoken))


def _history(thread: Thread, most: int) -> list[ContextItem]:
    earlier = thread.earlier
    items = [item for one in earlier for item in _earlier_items(one)]
    first = min((message.seq for one in earlier for message in (one.said, one.reply) if message is not None), default=1)
    if len(earlier) < most or first <= 1:
        return items
    return [HostNote(text=f"[host] Messages 1 to {first - 1} of this conversation are stored and not shown."), *items]


async def _attempt_call(tx: Transaction, run: RunRef, steps: Sequence[Step], budget_tokens: int) -> ModelCall:
    requirement, attachments = await requirement_of(tx, run)
    reminder = [submit_result_reminder()] if steps and not steps[-1].calls else []
    unknown = await unknown_effects_before(tx, run)
    warning = [effect_unknown_note(unknown)] if unknown else []
    current = [*warning, *_note(attachments), *_said(requirement.instructions, None), *_step_items(steps), *reminder]
    system = executor_system(await instructions_of(tx, run.agent_id))
    return ModelCall(assemble(system, [], current, budget_tokens), tools_for("executor"), "task")


async def _delivery_call(tx: Transaction, turn: TurnRow, history: list[ContextItem], budget_tokens: int) -> ModelCall:
    fact = await delivered_fact(tx, turn.delivery_id or "")
    kind = _KINDS[fact.kind]
    # Words that exist in several languages follow the title; what somebody wrote counts itself.
    language = language_of(fact.title, "" if fact.translated else fact.body)
    body = reason_in_words(fact.body, language) if fact.reason else fact.translated.get(language, fact.body)
    details = _details(fact, language)
    context = assemble(DELIVERY_SYSTEM, history, delivery_items(kind, fact.title, body, details), budget_tokens)
    return ModelCall(context, (), "main", without_model=verbatim_delivery(kind, fact.title, body, details))


async def _clock_note(tx: Transaction, time: datetime) -> ContextItem:
    zone = await person_zone(tx)
    return clock_note(Clock(wall_time(ZoneInfo(zone), time), zone))


async def _questions_note(tx: Transaction) -> list[ContextItem]:
    rows = await open_questions(tx)
    lines = [QuestionLine(row.question_id, (await task_row(tx, row.task_id)).title, row.text) for row in rows]
    return [questions_note(lines)] if lines else []


_USER_CAN = {
    "failure": {
        "en": ("have it resumed, with other instructions if you like", "or leave it as it is"),
        "zh": ("让它继续，可以改变要求", "或者就此作罢"),
    },
    "authorization": {
        "en": ("allow it for a while, beside this message or by `steward grants issue`", "or stop the task"),
        "zh": ("在此消息旁或用 `steward grants issue` 允许一段时间", "或者停止任务"),
    },
}


def _details(fact: DeliveredFact, language: str) -> DeliveryDetails:
    return DeliveryDetails(
        requirement_version=fact.requirement_version,
        done_before=fact.done_before,
        unknown_effects=fact.unknown_effects,
        artifacts=fact.artifacts,
        options=fact.options,
        user_can=(fact.choices or _USER_CAN.get(fact.kind, {})).get(language, ()),
    )


def _earlier_items(earlier: EarlierTurn) -> list[ContextItem]:
    items: list[ContextItem] = []
    if earlier.turn.kind == TurnKind.DELIVERY.value:
        items.append(HostNote(text="[host] A hidden task had something for the user; the assistant told it:"))
    elif earlier.turn.kind == TurnKind.INPUT.value and earlier.said is not None:
        items += [*_note(earlier.attachments), *_said(earlier.said.text, earlier.said.seq)]
    if earlier.turn.state == TurnState.FAILED.value and earlier.reply is not None:
        # The stored reply of a failed turn holds what its steps had said, too.
        return [*items, AssistantStep(text=earlier.reply.text, seq=earlier.reply.seq)]
    done = _step_items(earlier.steps)
    if earlier.reply is not None and not (earlier.steps and not earlier.steps[-1].calls):
        done.append(AssistantStep(text=earlier.reply.text, seq=earlier.reply.seq))
    return items + done


def _said(text: str, seq: int | None) -> list[ContextItem]:
    # Only an input that is nothing but attachments has no text; the note before it says what they are.
    return [UserText(text=text, seq=seq)] if text.strip() else []


def _note(attachments: Sequence[AttachmentRow]) -> list[ContextItem]:
    if not attachments:
        return []
    lines = [
        AttachmentLine(
            row.attachment_id, row.name, row.media_type, row.size, working_copy_path(row.attachment_id, row.name)
        )
        for row in attachments
    ]
    return [attachments_note(lines)]


def _step_items(steps: Sequence[Step]) -> list[ContextItem]:
    items: list[ContextItem] = []
    for step in steps:
        calls = tuple(ToolCall(call_id=call.call_id, name=call.name, arguments=call.arguments) for call in step.calls)
        items.append(AssistantStep(text=step.row.text, calls=calls, response_json=step.row.response_json or None))
        items += [
            ToolResult(call_id=call.call_id, name=call.name, content=call.result)
            for call in step.calls
            if call.result is not None
        ]
    return items
