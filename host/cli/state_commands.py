"""`steward state migrate-personal-review` (O4, E19)."""

from typing import Annotated

import typer

from host.cli.invocation import PROCESS_SETTINGS, Invocation, command

app = typer.Typer(no_args_is_help=True, help="Maintenance of what this machine stores, with the host stopped.")

STORE_SETTINGS = {
    name: PROCESS_SETTINGS[name] for name in ("home", "user_space", "product_domain", "composition_profile")
}
Apply = Annotated[bool, typer.Option("--apply", help="Import, if the source is still the expected one.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Inspect only; the default.")]
Digest = Annotated[
    str | None,
    typer.Option("--expect-source-digest", metavar="DIGEST", help="The source_digest that the inspection printed."),
]


@app.callback()
def group() -> None:
    """Maintenance of what this machine stores, with the host stopped."""


@app.command("migrate-personal-review")
@command(STORE_SETTINGS)
async def migrate_personal_review(
    invocation: Invocation, dry_run: DryRun = False, apply: Apply = False, expect_source_digest: Digest = None
) -> None:
    """Import the review ledger of an earlier version; without --apply look at it. Prints JSON.

    Stop every host of the user space first and keep a backup. Settings, actions and audit are copied into the empty
    ledger, rules are not. The source is never changed.
    """
    if apply and dry_run:
        raise typer.BadParameter("it contradicts --dry-run.", param_hint="--apply")
    if apply and expect_source_digest is None:
        raise typer.BadParameter("--apply needs it; inspect first.", param_hint="--expect-source-digest")
    if expect_source_digest is not None and not apply:
        raise typer.BadParameter("it is for --apply.", param_hint="--expect-source-digest")
    from host.cli.printing import print_json
    from host.cli.state_progress import progress
    from host.legacy_ledger import apply_ledger, inspect_ledger

    settings = invocation.settings()
    if expect_source_digest is None:
        with progress("Reading the ledger…"):
            report = await inspect_ledger(settings)
    else:
        with progress("Importing the ledger…"):
            report = await apply_ledger(settings, expect_source_digest)
    print_json(report)
