"""The life of a delivery (D2, D3): a result's way into the main conversation."""

from enum import StrEnum

from domain.transitions import Lifecycle


class DeliveryKind(StrEnum):
    """What a delivery brings (D1)."""

    RESULT = "result"
    FAILURE = "failure"
    QUESTION = "question"
    AUTHORIZATION = "authorization"
    NOTICE = "notice"


class DeliveryState(StrEnum):
    """States of a delivery (D2); `delivered` and `cancelled` are final, `failed` is settled but may be retried."""

    WAITING = "waiting"
    SUBMITTED = "submitted"
    DELIVERED = "delivered"
    FAILED = "failed"
    CANCELLED = "cancelled"


class DeliveryEvent(StrEnum):
    """What can happen to a delivery (D3)."""

    SUBMIT = "submit"
    STORE = "store"
    DISCARD = "discard"
    FAIL = "fail"
    RETRY = "retry"
    CANCEL = "cancel"


_S, _E = DeliveryState, DeliveryEvent
SETTLED = (_S.DELIVERED, _S.FAILED, _S.CANCELLED)

DELIVERY = Lifecycle[DeliveryState, DeliveryEvent](
    "delivery",
    {
        (_S.WAITING, _E.SUBMIT): _S.SUBMITTED,
        (_S.SUBMITTED, _E.STORE): _S.DELIVERED,
        (_S.SUBMITTED, _E.DISCARD): _S.WAITING,
        (_S.SUBMITTED, _E.FAIL): _S.FAILED,
        (_S.FAILED, _E.RETRY): _S.SUBMITTED,
        (_S.FAILED, _E.STORE): _S.DELIVERED,
        **{(state, _E.CANCEL): _S.CANCELLED for state in (_S.WAITING, _S.SUBMITTED, _S.FAILED)},
    },
    {
        _S.WAITING: "delivery_not_failed",
        _S.SUBMITTED: "delivery_not_failed",
        _S.DELIVERED: "delivery_not_failed",
        _S.CANCELLED: "delivery_not_failed",
    },
)
