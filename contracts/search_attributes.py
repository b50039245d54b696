"""Search attributes: every typed key once, and the list that start-up registers (O9). States and ids only (I9)."""

from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

USER_SPACE = SearchAttributeKey.for_keyword("StewardUserSpace")
DOMAIN = SearchAttributeKey.for_keyword("StewardDomain")
AGENT = SearchAttributeKey.for_keyword("StewardAgent")
KIND = SearchAttributeKey.for_keyword("StewardKind")
STATE = SearchAttributeKey.for_keyword("StewardState")
DELIVERY = SearchAttributeKey.for_keyword("StewardDelivery")
EFFECT = SearchAttributeKey.for_keyword("StewardEffect")
AUTOMATION = SearchAttributeKey.for_keyword("StewardAutomation")
ENGINE = SearchAttributeKey.for_keyword("StewardEngine")

ALL_KEYS = (USER_SPACE, DOMAIN, AGENT, KIND, STATE, DELIVERY, EFFECT, AUTOMATION, ENGINE)


def attributes(
    user_space: str,
    domain: str,
    kind: str,
    state: str | None,
    *,
    agent: str = "twin",
    delivery: str | None = None,
    effect: str | None = None,
    engine: str | None = None,
    automation: str | None = None,
) -> TypedSearchAttributes:
    """The attributes that a workflow starts with."""
    pairs = [
        SearchAttributePair(USER_SPACE, user_space),
        SearchAttributePair(DOMAIN, domain),
        SearchAttributePair(AGENT, agent),
        SearchAttributePair(KIND, kind),
    ]
    optional = ((STATE, state), (DELIVERY, delivery), (EFFECT, effect), (ENGINE, engine), (AUTOMATION, automation))
    pairs += [SearchAttributePair(key, value) for key, value in optional if value is not None]
    return TypedSearchAttributes(pairs)
