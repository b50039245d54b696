"""All methods of the plug-in `personal`, by name; what is not here is an unknown method."""

from collections.abc import Mapping
from typing import Final

from host.methods import (
    approvals,
    attention,
    audit,
    automations,
    contents,
    control,
    conversation,
    grants,
    profiles,
    rules,
    settings,
    tasks,
)
from host.methods.method import Method

PERSONAL_METHODS: Final[Mapping[str, Method]] = {
    **conversation.METHODS,
    **tasks.METHODS,
    **control.METHODS,
    **contents.METHODS,
    **approvals.METHODS,
    **audit.METHODS,
    **grants.METHODS,
    **automations.METHODS,
    **attention.METHODS,
    **profiles.METHODS,
    **rules.METHODS,
    **settings.METHODS,
}
