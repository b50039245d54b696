"""The exact action of an effect (E2): everything that decides what will happen, and nothing else.

The hard thing is the width of the digest: a field too few and a decision covers what nobody saw, a field too many and
an honest retry never matches. The digest itself is taken in `store.action_digest`.
"""

from enum import StrEnum
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from domain.file_state import Absent, FileState, Present

_SHA256 = r"^[0-9a-f]{64}$"


class FileOperation(StrEnum):
    """What happens to the file: it comes into being, or its whole content changes."""

    CREATE = "create"
    REPLACE = "replace"


class FileVersion(BaseModel):
    """The exact content that a file must have before it is replaced; `size` in bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str = Field(pattern=_SHA256)
    size: int = Field(ge=0)


class FileAction(BaseModel):
    """Writing one file as a whole (E1, E2).

    Attributes:
        path: absolute and normalised; never shown, logged or sent.
        precondition: what is at the path now; `absent` for a file that will be created.
        content_sha256: digest of the whole new content; `content_size` its bytes.
        created_parents: folders that will be made, outermost first, relative to the files root; the card names them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["file"] = "file"
    operation: FileOperation
    path: str
    precondition: FileVersion | Literal["absent"]
    content_sha256: str = Field(pattern=_SHA256)
    content_size: int = Field(ge=0)
    created_parents: tuple[str, ...] = ()

    @classmethod
    def writing(
        cls, path: str, found: FileState, *, content_sha256: str, content_size: int, created_parents: tuple[str, ...]
    ) -> Self:
        """The action that puts content at `path`, where `found` is now."""
        present = isinstance(found, Present)
        return cls(
            operation=FileOperation.REPLACE if present else FileOperation.CREATE,
            path=path,
            precondition=FileVersion(sha256=found.sha256, size=found.size) if isinstance(found, Present) else "absent",
            content_sha256=content_sha256,
            content_size=content_size,
            created_parents=created_parents,
        )

    def expected(self) -> FileState:
        """What must be at the path for the action to happen (E4)."""
        if isinstance(self.precondition, FileVersion):
            return Present(self.precondition.sha256, self.precondition.size)
        return Absent()

    def result(self) -> Present:
        """What is at the path once the action has happened (E13)."""
        return Present(self.content_sha256, self.content_size)

    def covers(self, found: FileState, missing_parents: tuple[str, ...]) -> bool:
        """Whether the action still says all that would happen: the file as expected, no folder made beyond the named.

        A folder that somebody else has made meanwhile changes nothing that a person decided on.
        """
        return found == self.expected() and set(missing_parents) <= set(self.created_parents)

    def fields(self) -> dict[str, JsonValue]:
        """The action as JSON, for storage and for its digest."""
        return self.model_dump(mode="json")
