"""Request receipts: the same request id is accepted once, for ever (I1, I2)."""

from collections.abc import Mapping
from typing import Any

from domain.refusal import refuse
from domain.request import content_digest
from store.database import Transaction
from store.tables_conversation import SpaceRow
from store.tables_host import ReceiptRow


async def find(tx: Transaction, request_id: str) -> ReceiptRow | None:
    """The receipt of a request id in this scope, or None."""
    scope = tx.scope
    return await tx.session.get(ReceiptRow, (scope.user_space, scope.domain, request_id))


async def repeated(tx: Transaction, request_id: str, method: str, content: Mapping[str, Any]) -> ReceiptRow | None:
    """The first receipt of a repeated request; None for a new one.

    Raises:
        Refused: `request_id_conflict` when the id was used for other content (I2).
    """
    receipt = await find(tx, request_id)
    if receipt is not None and receipt.digest != content_digest(method, content):
        raise refuse("request_id_conflict", "This request_id was used for another request. Use a new one.")
    return receipt


async def accept(
    tx: Transaction, request_id: str, method: str, content: Mapping[str, Any], *, principal: str, state: str = "done"
) -> ReceiptRow:
    """Write the receipt of a new request; the caller fills in what it names, in the same transaction."""
    space = await tx.session.get(SpaceRow, (tx.scope.user_space, tx.scope.domain))
    receipt = ReceiptRow(
        user_space=tx.scope.user_space,
        domain=tx.scope.domain,
        request_id=request_id,
        method=method,
        digest=content_digest(method, content),
        state=state,
        principal=principal,
        graph_generation=space.graph_generation if space is not None else 1,
        accepted_at=tx.now,
    )
    tx.session.add(receipt)
    return receipt
