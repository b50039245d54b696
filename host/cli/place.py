"""Where the host of some settings is reached from this machine, and the owner's credential for it (H19, O22)."""

from host.cli.failures import Unreachable
from host.owner_credential import FILE_NAME
from runtime.settings import LOOPBACK, Settings

_EVERYWHERE = {"0.0.0.0": LOOPBACK, "::": "::1"}


def host_address(settings: Settings) -> str:
    """Return HOST:PORT of the host; one that listens everywhere is reached by loopback, where calls are local (P14)."""
    name = _EVERYWHERE.get(settings.host, settings.host)
    return f"[{name}]:{settings.port}" if ":" in name else f"{name}:{settings.port}"


def owner_token(settings: Settings) -> str:
    """Return the owner's bearer token.

    Raises:
        Unreachable: When there is none, or it is another user's.
    """
    binding = f"{settings.user_space}/{settings.product_domain}"
    try:
        return (settings.state_dir / FILE_NAME).read_text("utf-8").strip()
    except FileNotFoundError:
        words = f"No host of {binding} was ever started with this STEWARD_HOME; start one by `steward up`."
        raise Unreachable(words) from None
    except (OSError, UnicodeDecodeError):
        words = f"The owner's credential of {binding} cannot be read; run this as the user who started the host."
        raise Unreachable(words) from None
