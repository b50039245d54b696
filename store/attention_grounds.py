"""What a decision about an agent's news goes by, read in one statement: choices, agent, open group (N2, N3).

The hard thing is that this is read in the transaction of every fact that asks for attention, ten thousand times in a
storm (N13). So the statements are made once, and nothing in them is an object of the session: what they read is decided
on and, where an event joins, written back by its key.
"""

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, FromClause, Row, Select, and_, bindparam, literal_column, select, update

from domain.agent_profile import works
from domain.attention import Group, Policy
from domain.attention_policy import policy_of
from domain.notification import Locator
from domain.user_settings import in_force
from store.columns import Table
from store.database import Transaction
from store.tables_attention import AgentProfileRow, AttentionGroupRow
from store.tables_rules import UserSettingsRow

OPEN: Final = "open"

_SETTINGS: Final = Table.metadata.tables[UserSettingsRow.__tablename__]
_PROFILES: Final = Table.metadata.tables[AgentProfileRow.__tablename__]
_GROUPS: Final = Table.metadata.tables[AttentionGroupRow.__tablename__]


@dataclass(frozen=True, slots=True)
class Grounds:
    """The person's policy for an agent now, and the group that its events join, None when none is open."""

    policy: Policy
    group_id: str | None
    group: Group | None


async def policy_for(tx: Transaction, agent_id: str) -> Policy:
    """What the person wants of an agent's news now (N2)."""
    return _policy(tx, agent_id, await _read(tx, _POLICY, agent_id))


async def grounds_for(tx: Transaction, agent_id: str) -> Grounds:
    """What the admission of an agent's event goes by."""
    row = await _read(tx, _GROUNDS, agent_id)
    policy = _policy(tx, agent_id, row)
    if row.group_id is None:
        return Grounds(policy, None, None)
    return Grounds(policy, row.group_id, Group(row.first_at, row.deadline, row.aggregated, row.held))


async def join(tx: Transaction, group_id: str, newest: Locator) -> None:
    """Count an event in an open group, with its place as the newest; the deadline stays (N3)."""
    values = {
        "joined": group_id, "at": tx.now, "kind": newest.kind, "in_session": newest.session_id, "at_seq": newest.seq,
        "card": newest.card_id,
    }  # fmt: skip
    await tx.session.execute(_JOIN, values)


async def _read(tx: Transaction, statement: Select[Any], agent_id: str) -> Row[Any]:
    # The session writes what it holds before it reads its own objects, but not before a statement of bare columns.
    await tx.session.flush()
    values = {"space": tx.scope.user_space, "of_domain": tx.scope.domain, "agent": agent_id}
    row: Row[Any] = (await tx.session.execute(statement, values)).one()
    return row


def _policy(tx: Transaction, agent_id: str, row: Row[Any]) -> Policy:
    enabled = works(agent_id, known=row.agent_id is not None, disabled=row.disabled_at is not None)
    return policy_of(in_force(row.choices or {}), agent_id, tx.now, agent_enabled=enabled)


def _statement(*, with_group: bool) -> Select[Any]:
    # One row whatever is missing: a person may have chosen nothing, twin has no profile, and no group may be open.
    one = select(literal_column("1").label("one")).subquery("one")
    joined = one.outerjoin(_SETTINGS, _in_scope(_SETTINGS))
    joined = joined.outerjoin(_PROFILES, and_(_in_scope(_PROFILES), _PROFILES.c.agent_id == bindparam("agent")))
    columns = [_SETTINGS.c.choices, _PROFILES.c.agent_id, _PROFILES.c.disabled_at]
    if with_group:
        is_open = and_(_GROUPS.c.agent_id == bindparam("agent"), _GROUPS.c.state == literal_column(f"'{OPEN}'"))
        joined = joined.outerjoin(_GROUPS, and_(_in_scope(_GROUPS), is_open))
        columns += [_GROUPS.c[name] for name in ("group_id", "first_at", "deadline", "aggregated", "held")]
    return select(*columns).select_from(joined)


def _in_scope(table: FromClause) -> ColumnElement[bool]:
    return and_(table.c.user_space == bindparam("space"), table.c.domain == bindparam("of_domain"))


_POLICY: Final = _statement(with_group=False)
_GROUNDS: Final = _statement(with_group=True)
_JOIN: Final = (
    update(_GROUPS)
    .where(_GROUPS.c.group_id == bindparam("joined"))
    .values(
        count=_GROUPS.c.count + 1, generation=_GROUPS.c.generation + 1, newest_at=bindparam("at"),
        locator_kind=bindparam("kind"), session_id=bindparam("in_session"), seq=bindparam("at_seq"),
        card_id=bindparam("card"),
    )
)  # fmt: skip
