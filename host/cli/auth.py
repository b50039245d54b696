"""`steward auth link|account` (O4, H19)."""

import typer

from host.cli import auth_account
from host.cli.invocation import Invocation, command

app = typer.Typer(no_args_is_help=True, help="Signing in.")
app.add_typer(auth_account.app, name="account")


@app.callback()
def group() -> None:
    """Signing in."""


@app.command("link")
@command()
async def link(invocation: Invocation) -> None:
    """Print a link that signs a browser in: once, within ten minutes."""
    from host.cli.login_link import login_link
    from host.cli.printing import print_json, write

    address = await login_link(invocation.settings())
    if invocation.as_json:
        print_json({"url": address, "valid_s": 600})
    else:
        write(address)
