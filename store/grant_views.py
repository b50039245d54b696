"""Grants and requests for them as the wire contract shows them (api.md, A2 `describe`)."""

from typing import Any

from sqlalchemy import select

from store.database import Transaction
from store.effect_views import DEFAULT_LANGUAGE
from store.grant_proposals import OPEN
from store.grant_rows import state_of
from store.keyset import cursor_after, text_key
from store.tables_grants import GrantProposalRow, GrantRow
from store.wire_time import wire_time

Json = dict[str, Any]


def proposal_view(row: GrantProposalRow) -> Json:
    """One request: what would be allowed, as bounds and in words (A11)."""
    view: Json = {
        "proposal_id": row.proposal_id,
        "bounds": row.bounds,
        "words": row.words[DEFAULT_LANGUAGE],
        "words_by_language": row.words,
        "created_at": wire_time(row.created_at),
    }
    optional = {"task_id": row.task_id, "automation_id": row.automation_id, "effect_id": row.effect_id}
    return view | {key: value for key, value in optional.items() if value is not None}


def grant_view(tx: Transaction, row: GrantRow) -> Json:
    """One grant for its owner (A2)."""
    holders = {
        "task_id": row.task_id, "requirement_version": row.requirement_version,
        "automation_id": row.automation_id, "binding_revision": row.binding_revision,
        "proposal_id": row.proposal_id if row.task_id is None and row.automation_id is None else None,
    }  # fmt: skip
    view: Json = {
        "grant_ref": row.grant_id,
        "state": state_of(tx, row).value,
        "holder": {key: value for key, value in holders.items() if value is not None},
        "bounds": row.bounds,
        "words": row.words[DEFAULT_LANGUAGE],
        "words_by_language": row.words,
        "issued_at": wire_time(row.issued_at),
        "expires_at": wire_time(row.expires_at),
    }
    if row.parent_grant_id is not None:
        view["parent_grant_ref"] = row.parent_grant_id
    return view if row.revoked_at is None else view | {"revoked_at": wire_time(row.revoked_at)}


async def grant_page(tx: Transaction, limit: int, cursor: str | None) -> Json:
    """A page of grants, newest first, by keyset; the first page also names the open requests."""
    query = select(GrantRow).where(GrantRow.user_space == tx.scope.user_space, GrantRow.domain == tx.scope.domain)
    after = text_key(cursor)
    if after is not None:
        query = query.where(GrantRow.grant_id < after)
    rows = (await tx.session.scalars(query.order_by(GrantRow.grant_id.desc()).limit(limit + 1))).all()
    shown = rows[:limit]
    more = cursor_after(shown[-1].grant_id) if len(rows) > limit else None
    page: Json = {"items": [grant_view(tx, row) for row in shown], "next_cursor": more}
    return page if cursor is not None else page | {"proposals": await _open_requests(tx, limit)}


async def _open_requests(tx: Transaction, limit: int) -> list[Json]:
    query = (
        select(GrantProposalRow)
        .where(
            GrantProposalRow.user_space == tx.scope.user_space,
            GrantProposalRow.domain == tx.scope.domain,
            GrantProposalRow.state == OPEN,
            GrantProposalRow.task_id.is_not(None),
        )
        .order_by(GrantProposalRow.proposal_id.desc())
        .limit(limit)
    )
    return [proposal_view(row) for row in await tx.session.scalars(query)]
