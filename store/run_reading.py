"""Reading what a run's context is built from (C6): earlier turns, the run's input, attachments, deliveries."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import func, select

from domain.automation_notice import notice_choices, notice_words
from domain.delivery import DeliveryKind
from domain.effect import EffectState
from domain.run import RunRef
from domain.turn import ENDED
from store.database import Transaction
from store.deliveries import AUTOMATION, delivery_row
from store.run_steps import Step, steps_of
from store.tables_authority import EffectRow
from store.tables_automations import AutomationRow, AutomationRunRow
from store.tables_control import QuestionRow
from store.tables_conversation import AttachmentRow, MessageAttachmentRow, MessageRow, TurnRow
from store.tables_grants import GrantProposalRow
from store.tables_work import ArtifactRow, AttemptRow, DeliveryRow, EvidenceRow, RequirementRow, TaskRow

EARLIER_TURNS = 60
"""More never fit any budget that is configured; what is before them is named by its range only."""


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """A turn that ended before: what was said to it, what it did, what it said."""

    turn: TurnRow
    said: MessageRow | None
    attachments: tuple[AttachmentRow, ...]
    steps: tuple[Step, ...]
    reply: MessageRow | None


@dataclass(frozen=True, slots=True)
class DeliveredFact:
    """What a delivery brings, as rows say it."""

    kind: str
    title: str
    body: str
    reason: str | None
    options: tuple[str, ...]
    requirement_version: int
    done_before: tuple[str, ...]
    unknown_effects: tuple[str, ...]
    artifacts: tuple[str, ...]
    translated: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Thread:
    """What a turn is shown of the conversation: the turns before it, its own input, that input's attachments."""

    earlier: list[EarlierTurn]
    said: MessageRow | None
    attachments: tuple[AttachmentRow, ...]


async def thread_of(tx: Transaction, turn: TurnRow, most: int = EARLIER_TURNS) -> Thread:
    """The newest turns that ended before this one continues, oldest first, without its own run's; and its input."""
    query = (
        select(TurnRow)
        .where(
            TurnRow.user_space == tx.scope.user_space,
            TurnRow.domain == tx.scope.domain,
            TurnRow.session_id == turn.session_id,
            TurnRow.state.in_([state.value for state in ENDED]),
            TurnRow.run_id != turn.run_id,
            TurnRow.position < turn.position,
        )
        .order_by(TurnRow.position.desc())
        .limit(most)
    )
    rows = list(reversed((await tx.session.scalars(query)).all()))
    steps = await steps_of(tx, [row.run_id for row in rows])
    own = turn.input_seq or 0
    seqs = [own, *(seq for row in rows for seq in (row.input_seq, row.message_seq) if seq is not None)]
    messages = await _messages(tx, turn.session_id, seqs)
    attachments = await attachments_of(tx, turn.session_id, seqs)
    earlier = [
        EarlierTurn(
            row,
            messages.get(row.input_seq or 0),
            tuple(attachments[row.input_seq or 0]),
            tuple(step for step in steps[row.run_id] if step.row.turn_id == row.turn_id),
            messages.get(row.message_seq or 0),
        )
        for row in rows
    ]
    return Thread(earlier, messages.get(own), tuple(attachments[own]))


async def _messages(tx: Transaction, session_id: str, seqs: Sequence[int]) -> dict[int, MessageRow]:
    query = select(MessageRow).where(MessageRow.session_id == session_id, MessageRow.seq.in_(seqs))
    return {row.seq: row for row in await tx.session.scalars(query)}


async def message_at(tx: Transaction, session_id: str, seq: int) -> MessageRow | None:
    """One stored message."""
    return await tx.session.get(MessageRow, (session_id, seq))


async def attachments_of(tx: Transaction, session_id: str, seqs: Iterable[int]) -> dict[int, list[AttachmentRow]]:
    """The attachments of some messages, in order."""
    query = (
        select(MessageAttachmentRow.seq, AttachmentRow)
        .join(AttachmentRow, AttachmentRow.attachment_id == MessageAttachmentRow.attachment_id)
        .where(MessageAttachmentRow.session_id == session_id, MessageAttachmentRow.seq.in_(list(seqs)))
        .order_by(MessageAttachmentRow.seq, MessageAttachmentRow.place)
    )
    found: dict[int, list[AttachmentRow]] = defaultdict(list)
    for seq, row in await tx.session.execute(query):
        found[seq].append(row)
    return found


async def requirement_of(tx: Transaction, run: RunRef) -> tuple[RequirementRow, list[AttachmentRow]]:
    """What an attempt is to do, with its attachments in order."""
    requirement = await tx.session.get_one(RequirementRow, (run.task_id, run.requirement_version))
    query = select(AttachmentRow).where(AttachmentRow.attachment_id.in_(requirement.attachment_ids))
    rows = {row.attachment_id: row for row in await tx.session.scalars(query)}
    return requirement, [rows[attachment_id] for attachment_id in requirement.attachment_ids if attachment_id in rows]


async def delivered_fact(tx: Transaction, delivery_id: str) -> DeliveredFact:
    """What a delivery has to say (D10): a task's, of the requirement version and attempt it is about; or a notice."""
    delivery = await delivery_row(tx, delivery_id)
    if delivery.owner_kind == AUTOMATION:
        return await _noticed(tx, delivery)
    task = await tx.session.get_one(TaskRow, delivery.owner_id)
    effects = (
        await tx.session.scalars(
            select(EffectRow)
            .where(EffectRow.task_id == task.task_id, EffectRow.requirement_version == delivery.requirement_version)
            .order_by(EffectRow.effect_id)
        )
    ).all()
    artifacts = await tx.session.scalars(
        select(ArtifactRow.name).where(
            ArtifactRow.task_id == task.task_id, ArtifactRow.requirement_version == delivery.requirement_version
        )
    )
    said = await _said(tx, delivery)
    failed = delivery.kind == DeliveryKind.FAILURE
    return DeliveredFact(
        kind=delivery.kind,
        title=task.title,
        body=said.body,
        reason=said.reason,
        options=said.options,
        translated=said.translated,
        requirement_version=delivery.requirement_version,
        done_before=_in_words(effects, EffectState.SUCCEEDED) if failed else (),
        unknown_effects=_in_words(effects, EffectState.UNKNOWN),
        artifacts=tuple(artifacts),
    )


async def _noticed(tx: Transaction, delivery: DeliveryRow) -> DeliveredFact:
    automation = await tx.session.get_one(AutomationRow, delivery.owner_id)
    run = await tx.session.get_one(AutomationRunRow, delivery.subject_id)
    words = notice_words(run.reason)
    return DeliveredFact(
        kind=delivery.kind, title=automation.title, body=words["en"], translated=words,
        choices=notice_choices(run.reason), reason=None, options=(), requirement_version=1,
        done_before=(), unknown_effects=(), artifacts=(),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Said:
    body: str
    reason: str | None = None
    options: tuple[str, ...] = ()
    translated: Mapping[str, str] = field(default_factory=dict)


async def _said(tx: Transaction, delivery: DeliveryRow) -> _Said:
    if delivery.kind == DeliveryKind.QUESTION:
        question = await tx.session.get_one(QuestionRow, delivery.subject_id)
        return _Said(question.text, options=tuple(str(label) for label in question.options.values()))
    if delivery.kind == DeliveryKind.AUTHORIZATION:
        proposal = await tx.session.get_one(GrantProposalRow, delivery.subject_id)
        return _Said(str(proposal.words["en"]), translated=proposal.words)
    if delivery.kind == DeliveryKind.FAILURE:
        key = (delivery.owner_id, delivery.requirement_version, delivery.attempt)
        attempt = await tx.session.get_one(AttemptRow, key)
        reason = attempt.reason or "turn_failed"
        return _Said(attempt.reason_text or reason, reason)
    evidence = await tx.session.get_one(EvidenceRow, (delivery.owner_id, delivery.requirement_version))
    return _Said(evidence.summary)


def _in_words(effects: Sequence[EffectRow], state: EffectState) -> tuple[str, ...]:
    return tuple(_words(row) for row in effects if row.state == state.value)


def _words(row: EffectRow) -> str:
    return str(row.words.get("en", ""))


async def unknown_effects_before(tx: Transaction, run: RunRef) -> int:
    """How many effects of the task's earlier attempts have no known outcome (T12)."""
    query = (
        select(func.count())
        .select_from(EffectRow)
        .where(
            EffectRow.task_id == run.task_id,
            EffectRow.run_id != run.run_id,
            EffectRow.state == EffectState.UNKNOWN.value,
        )
    )
    return await tx.session.scalar(query) or 0
