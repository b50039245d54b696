"""The program `steward`: its commands, each in a module of its own (O4).

The modules named here import nothing heavy; what a command needs is imported when it runs, so that `steward --help`
answers at once.
"""

from typing import Annotated

import typer

from host.cli import (
    approvals,
    audit,
    auth,
    automation_writes,
    channels,
    conversation,
    doctor,
    effects,
    grants,
    processes,
    profiles,
    questions,
    rules,
    settings,
    state_commands,
    tasks,
)

app = typer.Typer(
    name="steward",
    help="Steward: one conversation, hidden tasks that survive restarts, effects only under your authorization.",
    no_args_is_help=True,
    # A traceback with the values of variables would show private text (I9).
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"steward {version('steward')}")
        raise typer.Exit


@app.callback()
def _steward(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Keep logs off stdout, which is for the command's answer; `up`, `host` and `worker` set up their own."""
    import logging

    from runtime.logging import configure_logging

    configure_logging("console", "steward", logging.WARNING)


app.command()(processes.up)
app.command()(processes.host)
app.command()(processes.worker)
app.command()(conversation.send)
app.command()(conversation.chat)
app.add_typer(tasks.app, name="tasks")
app.add_typer(approvals.app, name="approvals")
app.add_typer(questions.app, name="questions")
app.add_typer(grants.app, name="grants")
app.add_typer(automation_writes.app, name="automations")
app.add_typer(effects.app, name="effects")
app.add_typer(rules.app, name="rules")
app.add_typer(settings.app, name="settings")
app.add_typer(channels.app, name="channels")
app.add_typer(profiles.app, name="profiles")
app.add_typer(audit.app, name="audit")
app.add_typer(state_commands.app, name="state")
app.add_typer(auth.app, name="auth")
app.command("doctor")(doctor.doctor)
