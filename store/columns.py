"""Shared column types and the declarative base: UTC times, scopes and naming conventions."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import DateTime, MetaData, String
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import JSON, TypeDecorator

UNREADABLE: Final = datetime.min.replace(tzinfo=UTC)
"""What a `MendableTime` reads where no time is stored: earlier than anything, and no time of anything."""
_ENDLESS_YEAR: Final = 9000


class UtcTime(TypeDecorator[datetime]):
    """A point in time, always in UTC, also on SQLite, which keeps no zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse naive times and store UTC."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a zone was about to be stored")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Attach UTC to what SQLite returns."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class MendableJson(TypeDecorator[Any]):
    """JSON in which another program may have left anything: what is not of its shape is read as an empty one.

    For rows that stand in a list with others, where the one that cannot be read must not keep the others from view
    (U8). What reads it says what is wrong with an empty one; nothing is written back.
    """

    impl = JSON
    cache_ok = True

    def __init__(self, shape: type[dict[str, Any]] | type[list[int]]) -> None:
        """Hold objects or lists."""
        super().__init__()
        self.shape = shape

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any]:
        """Decode what is stored, whatever it is."""
        decode = super().result_processor(dialect, coltype)

        def read(stored: object) -> object:
            try:
                value = stored if decode is None else decode(stored)
            except (ValueError, TypeError, RecursionError):
                return self.shape()
            return value if isinstance(value, self.shape) else self.shape()

        return read


class MendableTime(UtcTime):
    """A time in whose place another program may have left anything: read as `UNREADABLE` then (see `MendableJson`)."""

    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any]:
        """Decode what is stored, whatever it is."""
        decode = super().result_processor(dialect, coltype)

        def read(stored: object) -> object:
            try:
                time = stored if decode is None else decode(stored)
            except (ValueError, TypeError, OverflowError):
                return UNREADABLE
            # PostgreSQL's infinity, as its driver gives it: nothing can be reckoned from there.
            return UNREADABLE if isinstance(time, datetime) and time.year >= _ENDLESS_YEAR else time

        return read


class Table(DeclarativeBase):
    """Base of all tables; constraint names are fixed so that migrations can name them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy reads it from the class
        datetime: UtcTime(),
        dict[str, Any]: JSON(),
        list[str]: JSON(),
        list[int]: JSON(),
    }


class Scoped:
    """Columns of every row that belongs to one user space and product domain (P1, I8)."""

    user_space: Mapped[str] = mapped_column(String(64))
    domain: Mapped[str] = mapped_column(String(64))
