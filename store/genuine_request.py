"""What the person really asked for behind an effect (T2, E8): stored inputs of theirs, never a model's words for them.

The hard thing is a task: its instructions are mostly a model's. They are the person's own only where the person made
or resumed the task with them; a sub-task goes back to its root.
"""

from domain.request import OWN
from domain.turn import TurnKind
from store.database import Transaction
from store.tables_authority import EffectRow
from store.tables_conversation import MessageRow
from store.tables_work import RequirementRow, TaskRow
from store.turns import first_of_run


async def genuine_request(tx: Transaction, effect: EffectRow) -> tuple[str, ...]:
    """The person's own texts that asked for this, oldest first; empty where none can be told for certain."""
    if effect.task_id is not None:
        return await _asked_of_task(tx, effect.task_id, effect.requirement_version or 0)
    turn = await first_of_run(tx, effect.run_id)
    if turn.kind != TurnKind.INPUT.value or turn.input_seq is None:
        return ()
    return await _said(tx, turn.session_id, [turn.input_seq])


async def _asked_of_task(tx: Transaction, task_id: str, version: int) -> tuple[str, ...]:
    task = await tx.session.get(TaskRow, task_id)
    requirement = await tx.session.get(RequirementRow, (task_id, version))
    if task is None or requirement is None or (task.user_space, task.domain) != (tx.scope.user_space, tx.scope.domain):
        return ()
    if task.parent_task_id is not None:
        return await _asked_of_task(tx, task.parent_task_id, task.parent_requirement_version or 0)
    if task.automation_id is not None or requirement.request_id.startswith(OWN):
        # A model's call made it, or a time came: what the person said for it counts, not how it was passed on.
        session_id = requirement.source_session_id
        if session_id is None and requirement.request_id.startswith(f"{OWN}automation:{task.automation_id}:"):
            # A firing without such a message: only the owner writes an automation's instructions directly (U3).
            return (requirement.instructions,)
        return await _said(tx, session_id, requirement.source_seqs) if session_id is not None else ()
    before = await tx.session.get(RequirementRow, (task_id, version - 1))
    if before is None:
        return (requirement.instructions,)
    earlier = await _asked_of_task(tx, task_id, version - 1)
    # Resumed as it was, it is asked for by whoever asked before; the words may be a model's.
    return earlier if before.instructions == requirement.instructions else (*earlier, requirement.instructions)


async def _said(tx: Transaction, session_id: str, seqs: list[int]) -> tuple[str, ...]:
    found = []
    for seq in seqs:
        message = await tx.session.get(MessageRow, (session_id, seq))
        # One that is missing or somebody else's makes the whole request uncertain.
        if message is None or (message.role, message.origin) != ("user", "user"):
            return ()
        if message.text.strip():
            found.append(message.text)
    return tuple(found)
