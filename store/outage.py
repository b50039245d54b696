"""One name for a database that is away (O10, O15): `OperationalError`, whatever driver and moment call it.

A server that stops is told of in three ways: by a class of the driver's that SQLAlchemy keeps general, where a
statement is under way; by the operating system's own error, where a connection is made; and as an operational error.
Whoever goes on after an outage must not have to know them all.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

AWAY: Final = (OperationalError, InterfaceError)
"""What says that the database cannot be used at this moment."""


@contextmanager
def connecting() -> Iterator[None]:
    """A connection is made in this block: whatever fails, the database is away.

    Raises:
        OperationalError: It is.
    """
    try:
        yield
    except AWAY:
        raise
    except DBAPIError as error:
        raise OperationalError("CONNECT", None, error.orig or error) from error
    except OSError as error:
        raise OperationalError("CONNECT", None, error) from error


@contextmanager
def connected() -> Iterator[None]:
    """Statements are executed in this block: a connection that is lost is an outage, every other error is itself.

    Raises:
        OperationalError: The connection was lost.
    """
    try:
        yield
    except AWAY:
        raise
    except DBAPIError as error:
        if error.connection_invalidated:
            raise OperationalError(error.statement, None, error.orig or error) from error
        raise
