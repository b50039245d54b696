"""Whether the place that a notification names still has news (N4): the message is there, the card undecided.

A question and a request for a grant are announced by the message that brought them, so such a message has no news any
more once the question is closed or the request is settled.
"""

from sqlalchemy import and_, bindparam, select

from domain.approval import ApprovalState
from domain.delivery import DeliveryKind
from domain.notification import Locator
from domain.question import QuestionState
from store.columns import Scoped
from store.database import Transaction
from store.tables_attention import AttentionGroupRow
from store.tables_authority import ApprovalRow
from store.tables_automations import AutomationRow
from store.tables_control import QuestionRow
from store.tables_conversation import MessageRow, SessionRow
from store.tables_grants import GrantProposalRow
from store.tables_work import DeliveryRow, TaskRow

MESSAGE_GONE, CARD_GONE, FOREIGN = "message_gone", "card_gone", "foreign"
CARD_SETTLED, QUESTION_CLOSED, REQUEST_SETTLED = "card_settled", "question_closed", "request_settled"
APPROVAL = "approval"

# Without the message's text, which may be long and is nobody's business here (N1); built once.
_PLACE = (
    select(SessionRow.user_space, SessionRow.domain, MessageRow.seq, MessageRow.delivery_id)
    .outerjoin(MessageRow, and_(MessageRow.session_id == SessionRow.session_id, MessageRow.seq == bindparam("at_seq")))
    .where(SessionRow.session_id == bindparam("in_session"))
)


def locator_of(group: AttentionGroupRow) -> Locator:
    """The newest place of a group."""
    if group.locator_kind == "card":
        return Locator("card", card_id=group.card_id)
    return Locator("message", session_id=group.session_id, seq=group.seq)


async def gone(tx: Transaction, locator: Locator) -> str | None:
    """Why a locator does not resolve to news any more; None when it does."""
    if locator.kind == "card":
        card = await tx.session.get(ApprovalRow, locator.card_id)
        if card is None or not _own(tx, card):
            return CARD_GONE
        return None if card.state == ApprovalState.PENDING.value else CARD_SETTLED
    place = (await tx.session.execute(_PLACE, _place(locator))).first()
    if place is None or (place.user_space, place.domain) != (tx.scope.user_space, tx.scope.domain):
        return FOREIGN
    if place.seq is None:
        return MESSAGE_GONE
    delivery = await _delivery(tx, place.delivery_id)
    return None if delivery is None else await _settled(tx, delivery)


async def kind_of(tx: Transaction, locator: Locator) -> str:
    """What kind of news a locator names: `approval`, or the kind of the delivery that brought the message (N1)."""
    if locator.kind == "card":
        return APPROVAL
    place = (await tx.session.execute(_PLACE, _place(locator))).first()
    delivery = None if place is None else await _delivery(tx, place.delivery_id)
    return DeliveryKind.RESULT.value if delivery is None else delivery.kind


async def agent_of(tx: Transaction, delivery: DeliveryRow) -> str | None:
    """The agent whose news a delivery is: its task's or automation's; None when that is gone."""
    owner: TaskRow | AutomationRow | None
    if delivery.owner_kind == "automation":
        owner = await tx.session.get(AutomationRow, delivery.owner_id)
    else:
        owner = await tx.session.get(TaskRow, delivery.owner_id)
    return None if owner is None or not _own(tx, owner) else owner.agent_id


def _place(locator: Locator) -> dict[str, str | int | None]:
    return {"in_session": locator.session_id, "at_seq": locator.seq}


async def _delivery(tx: Transaction, delivery_id: str | None) -> DeliveryRow | None:
    return None if delivery_id is None else await tx.session.get(DeliveryRow, delivery_id)


async def _settled(tx: Transaction, delivery: DeliveryRow) -> str | None:
    if await agent_of(tx, delivery) is None:
        return FOREIGN
    if delivery.kind == DeliveryKind.QUESTION:
        question = await tx.session.get(QuestionRow, delivery.subject_id)
        return None if question is not None and question.state == QuestionState.OPEN.value else QUESTION_CLOSED
    if delivery.kind == DeliveryKind.AUTHORIZATION:
        proposal = await tx.session.get(GrantProposalRow, delivery.subject_id)
        return None if proposal is not None and proposal.state == "open" else REQUEST_SETTLED
    return None


def _own(tx: Transaction, row: Scoped) -> bool:
    return (row.user_space, row.domain) == (tx.scope.user_space, tx.scope.domain)
