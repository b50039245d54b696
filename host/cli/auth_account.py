"""`steward auth account login|list|logout` (O4, A8): accounts at the issuer that vouches for unattended work."""

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from host.cli.invocation import Invocation, command

if TYPE_CHECKING:
    from adapters.oidc_accounts import Account
    from adapters.oidc_login import Invitation
    from host.cli.printing import Json

app = typer.Typer(no_args_is_help=True, help="Accounts that authorize unattended work (STEWARD_OIDC_ISSUER).")
PATIENCE_S = 20.0
"""How long an issuer may be silent while a person waits in the terminal, in seconds."""
ACCOUNT = Annotated[str | None, typer.Argument(help="Id of the account; not needed where only one is signed in.")]


@app.callback()
def group() -> None:
    """Accounts that authorize unattended work."""


@app.command("login")
@command()
async def login(invocation: Invocation) -> None:
    """Sign in at the issuer: open the address that is shown, enter the code, and wait here."""
    from adapters.credential_store import CredentialsUnavailable
    from adapters.oidc_login import Login
    from domain.refusal import refuse
    from host.cli.printing import note, print_json, shown, write
    from runtime.folders import prepare_folders
    from runtime.issuer_accounts import accounts, oidc_issuer

    settings = invocation.settings()
    issuer = oidc_issuer(settings, PATIENCE_S)
    prepare_folders(settings)
    account = await Login(issuer, settings.oidc_tenant_claim, asyncio.sleep, _now).run(_invite)
    try:
        await asyncio.to_thread(accounts(settings).keep, account)
    except CredentialsUnavailable as error:
        raise refuse("authorization_uncertain", f"The sign-in could not be kept: {error}") from None
    if invocation.as_json:
        print_json(_view(account, current=True))
    else:
        write(shown(f"Signed in as {account.subject} at {account.issuer} ({account.account_id}).", keep=""))
    if settings.authorization_provider != "oidc":
        note("It authorizes nothing until STEWARD_AUTHORIZATION_PROVIDER=oidc is set for host and worker.")


@app.command("list")
@command()
async def list_accounts(invocation: Invocation) -> None:
    """Show who is signed in; the current account is the one that grants."""
    from host.cli.printing import local_time, print_json, print_table, write

    found = _accounts(invocation)
    items = [_view(account, current=current) for account, current in found]
    if invocation.as_json:
        print_json({"items": items})
    elif not items:
        write("Nobody is signed in.")
    else:
        print_table(
            ("account", "current", "subject", "tenant", "issuer", "signed in", "until"),
            [
                (
                    item["account"], "yes" if item["current"] else "", item["subject"], item["tenant"],
                    item["issuer"], local_time(item["signed_in_at"]), local_time(item["expires_at"]),
                )
                for item in items
            ],
        )  # fmt: skip


@app.command("logout")
@command()
async def logout(invocation: Invocation, account: ACCOUNT = None) -> None:
    """Sign out: the token is revoked at the issuer where it can be, and forgotten here in any case."""
    from adapters.credential_store import CredentialsUnavailable
    from host.cli.printing import note, print_json, write
    from runtime.issuer_accounts import accounts

    chosen = _chosen([found for found, _ in _accounts(invocation)], account)
    settings = invocation.settings()
    try:
        accounts(settings).forget(chosen.account_id)
    except CredentialsUnavailable as error:
        note(f"It is forgotten here, but: {error}")
    revoked = await _revoke(invocation, chosen)
    if invocation.as_json:
        print_json({"account": chosen.account_id, "revoked_at_issuer": revoked})
    else:
        write("Signed out." if revoked else "Signed out here. The issuer was not told: end the session there as well.")


def _accounts(invocation: Invocation) -> "list[tuple[Account, bool]]":
    """The accounts, each with whether it is the one that grants."""
    from adapters.credential_store import CredentialsUnavailable
    from domain.refusal import refuse
    from runtime.issuer_accounts import accounts, current_account

    settings = invocation.settings()
    try:
        found = accounts(settings).all()
        current = current_account(settings)
    except CredentialsUnavailable as error:
        raise refuse("authorization_uncertain", str(error)) from None
    return [(account, account == current) for account in found]


def _chosen(found: "list[Account]", account: str | None) -> "Account":
    from domain.refusal import refuse

    fitting = [one for one in found if account in (None, one.account_id)]
    if not fitting:
        raise refuse("not_found", "No such account is signed in; see `steward auth account list`.")
    if len(fitting) > 1:
        raise refuse("invalid_params", "Several accounts are signed in. Name one of `steward auth account list`.")
    return fitting[0]


async def _revoke(invocation: Invocation, account: "Account") -> bool:
    """Revoke the token at the configured issuer; False where that is another one, or it does not do it in time."""
    from adapters.oidc_http import NoAnswer
    from runtime.issuer_accounts import oidc_issuer

    settings = invocation.settings()
    if (account.issuer, account.client_id) != (settings.oidc_issuer, settings.oidc_client_id):
        return False
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await oidc_issuer(settings, PATIENCE_S).revoke(account.token, account.token_kind)
    except (NoAnswer, TimeoutError):
        return False


def _now() -> datetime:
    return datetime.now(UTC)


def _invite(invitation: "Invitation") -> None:
    from host.cli.printing import note, shown

    note(shown(f"Open {invitation.address} and enter the code {invitation.code}", keep=""))
    if invitation.complete is not None:
        note(shown(f"or open {invitation.complete}", keep=""))
    note("Waiting until you have signed in there ...")


def _view(account: "Account", *, current: bool) -> "Json":
    from store.wire_time import wire_time, wire_time_or_none

    return {
        "account": account.account_id,
        "issuer": account.issuer,
        "tenant": account.tenant,
        "subject": account.subject,
        "signed_in_at": wire_time(account.signed_in_at),
        "expires_at": wire_time_or_none(account.expires_at),
        "current": current,
    }
