"""`agents.rules.list|preview|save|update|delete`: standing decisions of the user (E5-E7)."""

from collections.abc import Mapping
from typing import Literal

from domain.rule import RuleMode
from host.call import Call
from host.methods.method import Method, Result
from host.rpc.params import DEFAULT_PAGE, Cursor, Id, Limit, Params, Sequence
from host.services import Services
from store import rules, views
from store.rules import Write

Mode = Literal["allow", "ask"]


class RuleList(Params):
    """`agents.rules.list`."""

    limit: Limit = DEFAULT_PAGE
    cursor: Cursor | None = None


class RulePreview(Params):
    """`agents.rules.preview`: of the rule that a card would become."""

    approval_id: Id


class RuleSave(Params):
    """`agents.rules.save`: names the scope that was shown, by its digest (E7)."""

    approval_id: Id
    scope_digest: Id
    mode: Mode


class RuleUpdate(Params):
    """`agents.rules.update`: switches, pauses or resumes."""

    rule_id: Id
    expected_revision: Sequence
    mode: Mode | None = None
    paused: bool | None = None


class RuleDelete(Params):
    """`agents.rules.delete`."""

    rule_id: Id
    expected_revision: Sequence


async def list_rules(services: Services, call: Call[RuleList]) -> Result:
    """A page of rules, newest first."""
    async with services.reading() as tx:
        return await rules.rule_page(tx, call.params.limit, call.params.cursor, _root(services))


async def preview(services: Services, call: Call[RulePreview]) -> Result:
    """The scope that would be saved, in words and field by field (E7)."""
    async with services.reading() as tx:
        return await rules.preview(tx, call.params.approval_id, _root(services))


async def save(services: Services, call: Call[RuleSave]) -> Result:
    """Save the rule that was shown; the card itself is decided elsewhere (E7)."""
    wanted = call.params
    async with services.admission(call) as tx:
        receipt, rule = await rules.save(
            tx, wanted.approval_id, wanted.scope_digest, RuleMode(wanted.mode), _write(services, call)
        )
        return rules.rule_view(rule, _root(services)) | {"receipt": views.receipt_view(receipt)}


async def update(services: Services, call: Call[RuleUpdate]) -> Result:
    """Switch a rule between allow and ask, pause it or let it go on (E6)."""
    wanted = call.params
    mode = None if wanted.mode is None else RuleMode(wanted.mode)
    async with services.admission(call) as tx:
        receipt, rule = await rules.update(
            tx, wanted.rule_id, wanted.expected_revision, mode, wanted.paused, _write(services, call)
        )
        return rules.rule_view(rule, _root(services)) | {"receipt": views.receipt_view(receipt)}


async def delete(services: Services, call: Call[RuleDelete]) -> Result:
    """Delete a rule (E6)."""
    wanted = call.params
    async with services.admission(call) as tx:
        receipt, rule = await rules.delete(tx, wanted.rule_id, wanted.expected_revision, _write(services, call))
        return rules.rule_view(rule, _root(services)) | {"receipt": views.receipt_view(receipt)}


def _root(services: Services) -> str:
    return str(services.files_root)


def _write(services: Services, call: Call[RuleSave] | Call[RuleUpdate] | Call[RuleDelete]) -> Write:
    return Write(request_id=call.write_id, principal=call.principal.id, root=_root(services))


METHODS: Mapping[str, Method] = {
    "agents.rules.list": Method(list_rules, RuleList),
    "agents.rules.preview": Method(preview, RulePreview),
    "agents.rules.save": Method(save, RuleSave, writes=True, local=True),
    "agents.rules.update": Method(update, RuleUpdate, writes=True, local=True),
    "agents.rules.delete": Method(delete, RuleDelete, writes=True, local=True),
}
