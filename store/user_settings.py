"""The person's settings of a user space (api.md `agents.settings`): read with their defaults, changed by revision."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from domain.refusal import refuse
from domain.user_settings import (
    ATTENTION_KEYS,
    AUTO_REVIEW,
    CHANNELS_KEY,
    KeptChannel,
    SettingChanges,
    changed_keys,
    chosen,
    in_force,
)
from store import agent_profiles, attention_waking, audit, changes, notification_channels, receipts
from store.database import Transaction
from store.tables_rules import UserSettingsRow

UPDATE = "agents.settings.update"
Json = dict[str, Any]


async def choices(tx: Transaction) -> Json:
    """What the person has chosen explicitly; a key that is not there is at its default."""
    row = await _row(tx)
    return dict(row.choices) if row is not None else {}


async def auto_review(tx: Transaction) -> bool:
    """Whether actions are reviewed automatically: on unless the person chose otherwise (E8)."""
    return in_force(await choices(tx))[AUTO_REVIEW] is True


async def settings_view(tx: Transaction) -> Json:
    """All settings with their revision; 0 before the first change."""
    row = await _row(tx)
    return {
        "revision": 0 if row is None else row.revision,
        **in_force({} if row is None else row.choices),
        CHANNELS_KEY: await notification_channels.channels_view(tx),
    }


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether a change was made now, not by an earlier request; and the channels whose secrets are to be forgotten."""

    fresh: bool
    removed_channels: tuple[str, ...] = ()


async def update(
    tx: Transaction,
    expected_revision: int,
    wanted: SettingChanges,
    request_id: str,
    principal: str,
    added_channels: Sequence[tuple[str, str, str]] = (),
) -> Outcome:
    """Make what a change names the person's own choice, for ever (E8); repeated with the same request, once.

    What says nothing new changes nothing: neither the revision, nor what anybody is told. A choice of what is in force
    anyway is kept all the same, and outlasts a change of the default.

    Args:
        tx: The unit of work.
        expected_revision: What the person saw.
        wanted: The change.
        request_id: Of the request.
        principal: Who asks.
        added_channels: The id, kind and shown form of every new channel of the change; its secret is kept already.

    Raises:
        Refused: `revision_conflict` (with the revision), `request_id_conflict`; `not_found` for an unknown channel, or
            a choice for an unknown agent, which would stay for ever.
    """
    content = {"expected_revision": expected_revision, "changes": wanted.model_dump(exclude_unset=True)}
    if await receipts.repeated(tx, request_id, UPDATE, content) is not None:
        return Outcome(fresh=False)
    row = await _row(tx)
    revision = 0 if row is None else row.revision
    if revision != expected_revision:
        message = f"The settings were changed meanwhile: they are at revision {revision}. Read them again."
        raise refuse("revision_conflict", message, revision=revision)
    for agent_id, choice in wanted.notifications.agents.items():
        if choice is not None:
            await agent_profiles.require_known(tx, agent_id)
    removed: list[str] = []
    if CHANNELS_KEY in wanted.model_fields_set:
        kept = [channel.channel_id for channel in wanted.channels if isinstance(channel, KeptChannel)]
        removed = await notification_channels.replace(tx, kept, added_channels)
    before = {} if row is None else row.choices
    now_chosen = chosen(before, wanted)
    changed = sorted(changed_keys(before, now_chosen) | ({CHANNELS_KEY} if removed or added_channels else set()))
    if changed or now_chosen != before:
        kept_row = await _store(tx, row, now_chosen, step=1 if changed else 0)
        # Which settings, not to what: names of agents and times of a day are the person's own (I9).
        details = {"changed": sorted(wanted.model_fields_set), "revision": kept_row.revision}
        await audit.record(tx, "settings.update", tx.scope.user_space, "allow", principal=principal, details=details)
    if ATTENTION_KEYS.intersection(changed):
        await attention_waking.look_at_held(tx)
    await receipts.accept(tx, request_id, UPDATE, content, principal=principal)
    return Outcome(fresh=True, removed_channels=tuple(removed))


async def import_choice(tx: Transaction, key: str, value: object) -> bool:
    """Take over a choice that the person made elsewhere; False when there is one here, which stays.

    Raises:
        ValidationError: there is no such setting, or the value is none of its values.
    """
    row = await _row(tx)
    if row is not None and key in row.choices:
        return False
    imported = SettingChanges.model_validate({key: value})
    await _store(tx, row, chosen({} if row is None else row.choices, imported), step=1)
    return True


async def _row(tx: Transaction) -> UserSettingsRow | None:
    return await tx.session.get(UserSettingsRow, (tx.scope.user_space, tx.scope.domain))


async def _store(tx: Transaction, row: UserSettingsRow | None, now_chosen: Json, *, step: int) -> UserSettingsRow:
    if row is None:
        row = UserSettingsRow(
            user_space=tx.scope.user_space, domain=tx.scope.domain, revision=0, choices={}, updated_at=tx.now
        )
        tx.session.add(row)
    row.choices, row.revision, row.updated_at = now_chosen, row.revision + step, tx.now
    if step:
        changes.notify(tx, "settings")
    await tx.session.flush()
    return row
