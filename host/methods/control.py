"""`agents.tasks.stop|resume|retry_delivery`, `agents.intents.get`: what a person does about a task (S1, T11, D5)."""

from collections.abc import Mapping

from domain.refusal import refuse
from host.call import Call
from host.methods.method import Method, Result
from host.rpc import params
from host.services import Services
from store import control_views, delivery_retries, resumes, stops, views
from store.resumes import Resume


async def stop(services: Services, call: Call[params.TaskOnly]) -> Result:
    """Accept a stop: effective for new effects from this transaction on (S1)."""
    async with services.admission(call) as tx:
        receipt, intent = await stops.accept_stop(tx, call.params.task_id, call.write_id, call.principal.id)
        answer = {"receipt": views.receipt_view(receipt), "intent": await control_views.intent_view(tx, intent)}
        cut = await control_views.cut_turns(tx, intent)
    for turn_id in cut:
        services.live_replies.stop(turn_id)
    return answer


async def resume(services: Services, call: Call[params.TaskResume]) -> Result:
    """Begin the next requirement version of an ended task (T11)."""
    wanted = call.params
    if call.user_input is not None:
        raise refuse("invalid_params", "New instructions of a resumed task stand in params.", field="user_input")
    async with services.admission(call) as tx:
        receipt, task = await resumes.resume_task(
            tx,
            Resume(
                task_id=wanted.task_id,
                request_id=call.write_id,
                instructions=wanted.instructions,
                engine=wanted.engine,
                permission_mode=wanted.permission_mode,
                grant_ref=wanted.grant_ref,
            ),
            call.principal.id,
        )
        answer = {"receipt": views.receipt_view(receipt), "task": await views.task_view(tx, task)}
    return answer


async def retry_delivery(services: Services, call: Call[params.DeliveryOnly]) -> Result:
    """Bring a failed delivery into the conversation again; the executor never runs again (D5)."""
    async with services.admission(call) as tx:
        receipt, delivery = await delivery_retries.retry_delivery(
            tx, call.params.delivery_id, call.write_id, call.principal.id
        )
        answer = {"receipt": views.receipt_view(receipt), "delivery": views.delivery_view(delivery)}
    return answer


async def get_intent(services: Services, call: Call[params.IntentOnly]) -> Result:
    """One stop intent: what it covers, and what it could not settle (S3)."""
    async with services.reading() as tx:
        return {"intent": await control_views.intent_view(tx, await stops.intent_row(tx, call.params.intent_id))}


METHODS: Mapping[str, Method] = {
    "agents.tasks.stop": Method(stop, params.TaskOnly, writes=True),
    "agents.tasks.resume": Method(resume, params.TaskResume, writes=True),
    "agents.tasks.retry_delivery": Method(retry_delivery, params.DeliveryOnly, writes=True),
    "agents.intents.get": Method(get_intent, params.IntentOnly),
}
