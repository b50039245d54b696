"""Who may do maintenance on a legacy ledger, and on which store (E19, H22): all of it must be shown, or it is a no."""

from dataclasses import dataclass

from domain.refusal import Refusal

NOT_PERMITTED = "maintenance_not_permitted"


@dataclass(frozen=True, slots=True)
class MaintenanceFacts:
    """What the host found out, with its own lock held.

    `provider_selected`: the composition provides the session domain whose ledger is filled.
    `folder_is_owned`, `credential_is_owned`: the state folder, and the owner's credential in it where there is one,
    belong to the user who runs this and to nobody else.
    `store_is_own_file`: the control plane is one SQLite file inside that folder.
    `other_scopes`: how many other user spaces or product domains have rows in it.
    """

    provider_selected: bool
    folder_is_owned: bool
    credential_is_owned: bool
    store_is_own_file: bool
    other_scopes: int


def may_maintain(facts: MaintenanceFacts) -> Refusal | None:
    """Return why the maintenance is refused, or None when everything that it needs was shown."""
    if not facts.provider_selected:
        return Refusal(
            "service_not_available",
            "No composition is selected that has a review ledger. Name the one that the host runs with: "
            "--composition-profile personal, in the product domain personal.",
            {"reason": "provider_missing"},
        )
    if not facts.folder_is_owned or not facts.credential_is_owned:
        return Refusal(
            NOT_PERMITTED,
            "Only the local owner may do this: the state folder and the owner's credential in it must belong to the "
            "user who runs this command. Run it as that user.",
            {"reason": "not_the_local_owner"},
        )
    if not facts.store_is_own_file or facts.other_scopes:
        return Refusal(
            NOT_PERMITTED,
            "The control plane may be shared with other hosts: stopping this one proves nothing about them. "
            "Only a SQLite database in the state folder, with this user space alone, is migrated here.",
            {"reason": "store_is_shared"},
        )
    return None
