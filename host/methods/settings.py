"""`agents.settings.get|update`: the person's own settings; those of the host are another surface (api.md)."""

from collections.abc import Mapping
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field

from domain.refusal import refuse
from domain.user_settings import SettingChanges
from host.call import Call
from host.methods.method import Method, Result
from host.methods.notification_settings import forget_channels, keep_new_channels, push_view
from host.rpc.params import LARGEST, NoParams, Params
from host.services import Services
from store import user_settings


class SettingsUpdate(Params):
    """`agents.settings.update`: 0 is the revision before the first change."""

    expected_revision: Annotated[int, Field(ge=0, le=LARGEST)]
    changes: SettingChanges


async def get(services: Services, _call: Call[NoParams]) -> Result:
    """All settings with their revision, and the key by which this installation's pushes are subscribed to."""
    push = await push_view(services)
    async with services.reading() as tx:
        return await user_settings.settings_view(tx) | {"push": push}


async def update(services: Services, call: Call[SettingsUpdate]) -> Result:
    """Change what is named; an explicit choice stays until the person makes another one (E8)."""
    wanted = call.params
    _check_zone(wanted.changes)
    push = await push_view(services)
    added = await keep_new_channels(services, wanted.changes)
    useless = [channel_id for channel_id, _, _ in added]
    try:
        async with services.admission(call) as tx:
            outcome = await user_settings.update(
                tx, wanted.expected_revision, wanted.changes, call.write_id, call.principal.id, added
            )
            answer = await user_settings.settings_view(tx)
        if outcome.fresh:
            useless = list(outcome.removed_channels)
    finally:
        await forget_channels(services, useless)
    return answer | {"push": push}


def _check_zone(changes: SettingChanges) -> None:
    if "timezone" not in changes.quiet_hours.model_fields_set:
        return
    try:
        ZoneInfo(changes.quiet_hours.timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise refuse(
            "invalid_params",
            "changes.quiet_hours.timezone is no IANA zone, as Europe/Berlin is one.",
            field="changes.quiet_hours.timezone",
        ) from None


METHODS: Mapping[str, Method] = {
    "agents.settings.get": Method(get, NoParams),
    "agents.settings.update": Method(update, SettingsUpdate, writes=True, local=True),
}
