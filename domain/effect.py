"""The life of an effect and of its claim (E12, E13, I3, I4)."""

from enum import StrEnum

from domain.transitions import Lifecycle


class EffectKind(StrEnum):
    """Kinds of effects (E1)."""

    FILE = "file"
    COMMAND = "command"
    CONNECTOR = "connector"


class EffectState(StrEnum):
    """States of an effect (api.md)."""

    PROPOSED = "proposed"
    WAITING_AUTHORIZATION = "waiting_authorization"
    WAITING_DECISION = "waiting_decision"
    CLAIMED = "claimed"
    STARTED = "started"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"
    WITHDRAWN = "withdrawn"
    REFUSED = "refused"


class EffectEvent(StrEnum):
    """What can happen to an effect."""

    LACK_AUTHORIZATION = "lack_authorization"
    ASK = "ask"
    CLAIM = "claim"
    RELEASE = "release"
    START = "start"
    SUCCEED = "succeed"
    FAIL = "fail"
    LOSE = "lose"
    WITHDRAW = "withdraw"
    REFUSE = "refuse"


_S, _E = EffectState, EffectEvent
BEFORE_CLAIM = (_S.PROPOSED, _S.WAITING_AUTHORIZATION, _S.WAITING_DECISION)
ENDED = (_S.SUCCEEDED, _S.FAILED, _S.UNKNOWN, _S.WITHDRAWN, _S.REFUSED)

EFFECT = Lifecycle[EffectState, EffectEvent](
    "effect",
    {
        **{(state, _E.LACK_AUTHORIZATION): _S.WAITING_AUTHORIZATION for state in (_S.PROPOSED, _S.WAITING_DECISION)},
        **{(state, _E.ASK): _S.WAITING_DECISION for state in (_S.PROPOSED, _S.WAITING_AUTHORIZATION)},
        **{(state, _E.CLAIM): _S.CLAIMED for state in BEFORE_CLAIM},
        **{(state, _E.REFUSE): _S.REFUSED for state in BEFORE_CLAIM},
        **{(state, _E.WITHDRAW): _S.WITHDRAWN for state in (*BEFORE_CLAIM, _S.CLAIMED)},
        (_S.CLAIMED, _E.RELEASE): _S.WAITING_DECISION,
        (_S.CLAIMED, _E.START): _S.STARTED,
        (_S.STARTED, _E.SUCCEED): _S.SUCCEEDED,
        (_S.STARTED, _E.FAIL): _S.FAILED,
        (_S.STARTED, _E.LOSE): _S.UNKNOWN,
        # Only observation or the owner settles an unknown effect; nothing dispatches it again (E13).
        (_S.UNKNOWN, _E.SUCCEED): _S.SUCCEEDED,
        (_S.UNKNOWN, _E.FAIL): _S.FAILED,
    },
    {},
)


class ClaimState(StrEnum):
    """States of a claim: open until dispatch begins, then started, then settled; or withdrawn unstarted."""

    CLAIMED = "claimed"
    STARTED = "started"
    SETTLED = "settled"
    WITHDRAWN = "withdrawn"
