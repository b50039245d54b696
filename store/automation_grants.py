"""The permission of a binding (U6, A15): given to what an automation does now, narrowed for each firing's task.

The hard thing is the difference between no permission yet, with which a firing runs and its first effect waits, and one
that has ended, with which it does not run.
"""

from collections.abc import Set as AbstractSet

from sqlalchemy import select

from domain.automation_firing import BindingGrant
from domain.grant import Bounds, Execution, GrantState, covers
from store import deliveries, grant_rows
from store.database import Transaction
from store.tables_automations import AutomationRow, AutomationRunRow
from store.tables_grants import GrantRow
from store.tables_work import TaskRow


async def grants_of_binding(tx: Transaction, automation_id: str, binding_revision: int) -> list[GrantRow]:
    """What was granted to one revision of a binding, newest first; narrowings for tasks are not among them."""
    query = (
        select(GrantRow)
        .where(
            GrantRow.automation_id == automation_id,
            GrantRow.binding_revision == binding_revision,
            GrantRow.parent_grant_id.is_(None),
        )
        .order_by(GrantRow.grant_id.desc())
    )
    return list(await tx.session.scalars(query))


async def grants_of_automation(tx: Transaction, automation_id: str) -> list[GrantRow]:
    """The active grants for what an automation does now, newest first; none of an unknown one."""
    row = await tx.session.get(AutomationRow, automation_id)
    if row is None or (row.user_space, row.domain) != (tx.scope.user_space, tx.scope.domain):
        return []
    given = await grants_of_binding(tx, automation_id, row.binding_revision)
    return [grant for grant in given if grant_rows.state_of(tx, grant) is GrantState.ACTIVE]


async def standing_of(
    tx: Transaction, row: AutomationRow, refused: AbstractSet[str]
) -> tuple[BindingGrant, GrantRow | None]:
    """How the permission for what an automation does now stands, and the grant that says so.

    Args:
        tx: the transaction; its time decides whether a grant has expired (A12).
        row: the automation.
        refused: ids of grants that their external provider has just refused (A8).
    """
    given = await grants_of_binding(tx, row.automation_id, row.binding_revision)
    for grant in given:
        if grant.grant_id not in refused and grant_rows.state_of(tx, grant) is GrantState.ACTIVE:
            return BindingGrant.ACTIVE, grant
    return (BindingGrant.ENDED, given[0]) if given else (BindingGrant.NONE, None)


async def covering_grant(tx: Transaction, task: TaskRow, provider: str, wanted: Execution) -> GrantRow | None:
    """A grant of the binding that a firing's task runs for and that covers an effect of it (A15): also a newer one."""
    if task.automation_id is None:
        return None
    query = select(AutomationRunRow.binding_revision).where(
        AutomationRunRow.task_id == task.task_id, AutomationRunRow.requirement_version == task.requirement_version
    )
    binding_revision = await tx.session.scalar(query)
    if binding_revision is None:
        return None
    for grant in await grants_of_binding(tx, task.automation_id, binding_revision):
        active = grant.provider == provider and grant_rows.state_of(tx, grant) is GrantState.ACTIVE
        if active and covers(Bounds.model_validate(grant.bounds), wanted, tx.now) is None:
            return grant
    return None


async def tell_ended(tx: Transaction, row: AutomationRow, grant: GrantRow, run_id: str) -> None:
    """Tell the person, once for each grant, that a firing did not run because its permission has ended (U6)."""
    if row.notice_grant != grant.grant_id:
        row.notice_grant = grant.grant_id
        await deliveries.open_notice(tx, row.automation_id, row.binding_revision, run_id)
