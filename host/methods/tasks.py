"""`agents.tasks.create|list|get`: hidden tasks (T1, T2, T15, T16)."""

from collections.abc import Mapping

from domain.refusal import refuse
from host.call import Call
from host.methods.method import Method, Result
from host.methods.working_copies import put_working_copies
from host.rpc import params
from host.services import Services
from store import tasks, views
from store.tasks import NewTask


async def create(services: Services, call: Call[params.TaskCreate]) -> Result:
    """Accept a task (T1): requirement 1 and attempt 1 are recorded before it is acknowledged."""
    wanted, said = call.params, call.said
    if said != type(said)(text=said.text):
        raise refuse("invalid_params", "user_input of a task takes text alone; all else stands in params.")
    task = NewTask(
        title=wanted.title,
        instructions=said.text,
        request_id=call.write_id,
        agent_id=wanted.agent_id or "twin",
        engine=wanted.engine,
        permission_mode=wanted.permission_mode,
        attachment_ids=tuple(wanted.attachment_ids),
        grant_ref=wanted.grant_ref,
    )
    async with services.admission(call) as tx:
        receipt, row = await tasks.accept_task(tx, task, call.principal.id)
        await put_working_copies(services, tx, task.attachment_ids)
        answer = {"receipt": views.receipt_view(receipt), "task": await views.task_view(tx, row)}
    return answer


async def list_tasks(services: Services, call: Call[params.TaskList]) -> Result:
    """A page of tasks by keyset (T15)."""
    wanted = call.params
    filters = {
        "state": None if wanted.state is None else wanted.state.value,
        "agent_id": wanted.agent_id,
        "automation_id": wanted.automation_id,
    }
    async with services.reading() as tx:
        return await views.task_page(tx, filters, wanted.limit, wanted.cursor)


async def get(services: Services, call: Call[params.TaskOnly]) -> Result:
    """Everything about a task, with the links to its workflows (T16)."""
    async with services.reading() as tx:
        return await views.task_detail(tx, call.params.task_id, services.temporal.workflow_url)


METHODS: Mapping[str, Method] = {
    "agents.tasks.create": Method(create, params.TaskCreate, writes=True, takes_input=True),
    "agents.tasks.list": Method(list_tasks, params.TaskList),
    "agents.tasks.get": Method(get, params.TaskOnly),
}
