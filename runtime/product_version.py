"""Which Steward this is."""

from importlib.metadata import PackageNotFoundError, version


def product_version() -> str:
    """The installed package's version; `0` where it runs without being installed."""
    try:
        return version("steward")
    except PackageNotFoundError:
        return "0"
