"""Tool calls about other work and about the user: stop, resume, retry, answer, ask (T7, T9, T11, D5, S1)."""

from activities.call_names import call_request
from assistant import tool_results
from assistant.tool_arguments import AnswerQuestion, AskUser, ResumeTask, RetryDelivery, StopTask
from contracts.run import RunPoint
from domain.refusal import accepted, refuse
from domain.run import RunKind, RunRef
from domain.tool_policy import mode_handed_on
from domain.turn import TurnKind
from store import control_views, delivery_retries, questions, resumes, stops, tasks, views
from store.database import Transaction
from store.tables_conversation import TurnRow
from store.turns import first_of_run, turn_row


async def stop_task(tx: Transaction, point: RunPoint, arguments: StopTask) -> str:
    """Accept a stop; it is effective at once, what it waits for is shown by the task (S1)."""
    turn = await turn_row(tx, point.run.turn_id or "")
    _receipt, intent = await stops.accept_stop(tx, arguments.task_id, call_request(point), turn.principal)
    return tool_results.answered(intent=await control_views.intent_view(tx, intent))


async def resume_task(tx: Transaction, point: RunPoint, arguments: ResumeTask) -> str:
    """Begin the next requirement version of an ended task (T11), in no wider mode than the run's own (E3)."""
    turn = await turn_row(tx, point.run.turn_id or "")
    source = (turn.session_id, (turn.input_seq,)) if turn.input_seq is not None else None
    wanted = resumes.Resume(
        task_id=arguments.task_id,
        request_id=call_request(point),
        instructions=arguments.instructions,
        permission_mode=accepted(mode_handed_on(None, turn.permission_mode)),
        source=source,
    )
    _receipt, task = await resumes.resume_task(tx, wanted, turn.principal)
    return tool_results.task_shown(await views.task_view(tx, task))


async def retry_delivery(tx: Transaction, point: RunPoint, arguments: RetryDelivery) -> str:
    """Bring a failed delivery into the conversation again (D5)."""
    turn = await turn_row(tx, point.run.turn_id or "")
    _receipt, delivery = await delivery_retries.retry_delivery(
        tx, arguments.delivery_id, call_request(point), turn.principal
    )
    return tool_results.answered(delivery=views.delivery_view(delivery))


async def answer_question(tx: Transaction, point: RunPoint, arguments: AnswerQuestion) -> str:
    """Pass on what the user said; only a turn that answers an input of the user may (T9)."""
    turn: TurnRow = await first_of_run(tx, point.run.run_id)
    if turn.kind != TurnKind.INPUT.value or turn.input_seq is None:
        raise refuse("forbidden", "Only what the user has just said answers a question.")
    row = await questions.answer_from_conversation(
        tx,
        arguments.question_id,
        arguments.text,
        request_id=call_request(point),
        principal=turn.principal,
        source=(turn.session_id, turn.input_seq),
    )
    return tool_results.answered(question_id=row.question_id, state=row.state)


async def ask_user(tx: Transaction, point: RunPoint, arguments: AskUser) -> None:
    """Open the call's question; its answer will be the call's (T7)."""
    await questions.ask(tx, point.run, point.step, point.index, arguments.question, arguments.options or ())


async def mode_of(tx: Transaction, run: RunRef) -> str:
    """The permission mode that a run works in: its task's, or its turn's."""
    if run.kind is RunKind.ATTEMPT:
        return (await tasks.task_row(tx, run.task_id or "")).permission_mode
    return (await turn_row(tx, run.turn_id or "")).permission_mode
