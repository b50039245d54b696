"""`agents.automations.*`: schedules bound to work, made and changed by their owner (U1-U3, U7-U9)."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from domain.automation import Binding
from domain.refusal import accepted, refuse
from domain.schedule import schedule_of
from host.call import Call
from host.methods.method import Method, Result
from host.rpc.params import DEFAULT_PAGE, LARGEST, Cursor, Id, Limit, Mode, Name, Params, Sequence
from host.services import Services
from store import automation_edits, automation_proposals, automation_views, automations, views
from store.automation_runs import FiringRules
from store.automations import NewAutomation, Write
from store.database import Transaction
from store.tables_automations import AutomationRow
from store.tables_host import ReceiptRow

FiringMode = Literal["new", "continue"]
OverlapPolicy = Literal["skip", "buffer_one", "allow"]
Seconds = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
"""What the domain then bounds, with the limit in its words."""


class Preview(Params):
    """`agents.automations.preview`."""

    schedule: dict[str, Any]


class Create(Params):
    """`agents.automations.create`: the instructions are the envelope's `user_input.text`."""

    title: str
    schedule: dict[str, Any]
    mode: FiringMode = "new"
    agent_id: Id = "twin"
    engine: Name | None = None
    permission_mode: Mode | None = None
    overlap: OverlapPolicy = "skip"
    catchup_s: Seconds = 3600
    grant_ref: Id | None = None


class AutomationList(Params):
    """`agents.automations.list`."""

    limit: Limit = DEFAULT_PAGE
    cursor: Cursor | None = None


class AutomationOnly(Params):
    """`agents.automations.get`."""

    automation_id: Id


class Expected(Params):
    """Every write of an existing automation: at the revision that was seen."""

    automation_id: Id
    expected_revision: Sequence


class Update(Expected):
    """`agents.automations.update`: what is left out stays as it is; instructions may also be the `user_input.text`."""

    title: str | None = None
    instructions: str | None = None
    mode: FiringMode | None = None
    agent_id: Id | None = None
    engine: Name | None = None
    permission_mode: Mode | None = None
    overlap: OverlapPolicy | None = None
    catchup_s: Seconds | None = None
    grant_ref: Id | None = None


class Reschedule(Expected):
    """`agents.automations.reschedule`."""

    schedule: dict[str, Any]


class Confirm(Params):
    """`agents.automations.confirm`."""

    proposal_id: Id


async def preview(services: Services, call: Call[Preview]) -> Result:
    """The schedule as it would be stored, in words, with its next ten times."""
    return automation_views.preview(accepted(schedule_of(call.params.schedule)), services.clock())


async def create(services: Services, call: Call[Create]) -> Result:
    """Create an automation (U1)."""
    wanted = call.params
    binding = Binding(
        title=wanted.title, instructions=_text_alone(call), agent_id=wanted.agent_id, engine=wanted.engine,
        permission_mode=wanted.permission_mode, mode=wanted.mode, overlap=wanted.overlap, catchup_s=wanted.catchup_s,
    )  # fmt: skip
    new = NewAutomation(binding, accepted(schedule_of(wanted.schedule)), wanted.grant_ref)
    async with services.admission(call) as tx:
        return await _answer(tx, *await automations.create(tx, new, _write(call)))


async def list_automations(services: Services, call: Call[AutomationList]) -> Result:
    """A page of automations, newest first, and what is proposed (U8, U9)."""
    async with services.reading() as tx:
        return await automation_views.automation_page(tx, call.params.limit, call.params.cursor)


async def get(services: Services, call: Call[AutomationOnly]) -> Result:
    """One automation with its instructions and last runs (U8)."""
    async with services.reading() as tx:
        return await automation_views.automation_detail(tx, call.params.automation_id)


async def confirm(services: Services, call: Call[Confirm]) -> Result:
    """Make a proposal real (U9)."""
    async with services.admission(call) as tx:
        return await _answer(tx, *await automation_proposals.confirm(tx, call.params.proposal_id, _write(call)))


async def update(services: Services, call: Call[Update]) -> Result:
    """Change what is done, or how it is called and left out (U3)."""
    wanted = call.params
    fields = wanted.model_dump(exclude={"automation_id", "expected_revision", "grant_ref"}, exclude_none=True)
    if call.user_input is not None:
        if "instructions" in fields:
            raise refuse("invalid_params", "Instructions stand in params or in user_input, not in both.")
        fields["instructions"] = _text_alone(call)
    async with services.admission(call) as tx:
        written = await automation_edits.update(
            tx, wanted.automation_id, wanted.expected_revision, fields, wanted.grant_ref, _write(call)
        )
        return await _answer(tx, *written)


async def reschedule(services: Services, call: Call[Reschedule]) -> Result:
    """Have the same automation fire at other times (U3)."""
    wanted = call.params
    schedule = accepted(schedule_of(wanted.schedule))
    async with services.admission(call) as tx:
        written = await automation_edits.reschedule(
            tx, wanted.automation_id, wanted.expected_revision, schedule, _write(call)
        )
        return await _answer(tx, *written)


async def pause(services: Services, call: Call[Expected]) -> Result:
    """Let none of its times fire (U7)."""
    async with services.admission(call) as tx:
        return await _answer(tx, *await automation_edits.pause(tx, *_seen(call), _write(call)))


async def resume(services: Services, call: Call[Expected]) -> Result:
    """Let its times fire again (U7)."""
    async with services.admission(call) as tx:
        return await _answer(tx, *await automation_edits.resume(tx, *_seen(call), _write(call)))


async def trigger(services: Services, call: Call[Expected]) -> Result:
    """Fire now (U7)."""
    async with services.admission(call) as tx:
        rules = FiringRules(failures=services.settings.automation_failures)
        return await _answer(tx, *await automation_edits.trigger(tx, *_seen(call), _write(call), rules))


async def delete(services: Services, call: Call[Expected]) -> Result:
    """Delete an automation; its running task goes on (U7)."""
    async with services.admission(call) as tx:
        return await _answer(tx, *await automation_edits.delete(tx, *_seen(call), _write(call)))


def _text_alone(call: Call[Any]) -> str:
    said = call.said
    if said != type(said)(text=said.text):
        raise refuse("invalid_params", "user_input of an automation takes text alone; all else stands in params.")
    return said.text


def _seen(call: Call[Expected]) -> tuple[str, int]:
    return call.params.automation_id, call.params.expected_revision


def _write(call: Call[Any]) -> Write:
    return Write(request_id=call.write_id, principal=call.principal.id)


async def _answer(tx: Transaction, receipt: ReceiptRow, row: AutomationRow) -> Result:
    return await automation_views.automation_view(tx, row) | {"receipt": views.receipt_view(receipt)}


METHODS: Mapping[str, Method] = {
    "agents.automations.preview": Method(preview, Preview),
    "agents.automations.create": Method(create, Create, writes=True, local=True, takes_input=True),
    "agents.automations.list": Method(list_automations, AutomationList),
    "agents.automations.get": Method(get, AutomationOnly),
    "agents.automations.confirm": Method(confirm, Confirm, writes=True, local=True),
    "agents.automations.update": Method(update, Update, writes=True, local=True, takes_input=True),
    "agents.automations.reschedule": Method(reschedule, Reschedule, writes=True, local=True),
    "agents.automations.pause": Method(pause, Expected, writes=True, local=True),
    "agents.automations.resume": Method(resume, Expected, writes=True, local=True),
    "agents.automations.trigger": Method(trigger, Expected, writes=True, local=True),
    "agents.automations.delete": Method(delete, Expected, writes=True, local=True),
}
