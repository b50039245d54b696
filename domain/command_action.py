"""The exact action of a command (E2, E15): what runs, with what, where and how confined; and input to a running one.

The hard thing is what does not belong here: a time limit decides how long is waited, not what happens, and the values
of the environment and the input may be secret, so their digests stand for them.
"""

from typing import Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

_SHA256 = r"^[0-9a-f]{64}$"

ARGUMENTS: Final = 256
ARGV_BYTES: Final = 64 * 1024
ENVIRONMENT_NAMES: Final = 64
ENVIRONMENT_BYTES: Final = 32 * 1024
STDIN_BYTES: Final = 64 * 1024
INPUT_BYTES: Final = 64 * 1024
TIMEOUT_S: Final = 600
LONGEST_TIMEOUT_S: Final = 3600
OUTPUT_BYTES: Final = 256 * 1024
"""Kept of a command's output, half of it from the beginning and half from the end (E15)."""

OWN_NAMES: Final = "STEWARD_"
"""Names of environment variables that begin with this are Steward's; no command may set one."""

_PROCESS: Final = "process_"
_EFFECT: Final = "effect_"


class Executable(BaseModel):
    """The program file that would run: its real path and the SHA-256 of its content."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    sha256: str = Field(pattern=_SHA256)


class Environment(BaseModel):
    """What the command finds in its environment: all names, sorted, and the digest of the names with their values."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    names: tuple[str, ...]
    sha256: str = Field(pattern=_SHA256)


class Permissions(BaseModel):
    """What the command may reach (E16): without confinement it has the network whatever anybody wants."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    network: bool
    confined: bool


class CommandAction(BaseModel):
    """Running one command (E2).

    Attributes:
        argv: the program as it was named and its arguments; no shell reads them (E15).
        executable: what the name leads to.
        cwd: absolute working folder inside the files root; never shown, logged or sent.
        stdin_sha256: digest of what it can read at first; that of nothing where there is none.
        interactive: it is kept for `process_input` once it has started.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["command"] = "command"
    operation: Literal["run"] = "run"
    argv: tuple[str, ...] = Field(min_length=1)
    executable: Executable
    cwd: str
    environment: Environment
    permissions: Permissions
    stdin_sha256: str = Field(pattern=_SHA256)
    interactive: bool = False

    def fields(self) -> dict[str, JsonValue]:
        """The action as JSON, for storage and for its digest."""
        return self.model_dump(mode="json")


class ProcessInputAction(BaseModel):
    """Sending text to a command that was started interactively (E15): its own action each time, under no rule (E6).

    `executable` is the program that was started under the process id, for the bounds of grants (A3).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["command"] = "command"
    operation: Literal["input"] = "input"
    process_id: str
    executable: Executable
    text_sha256: str = Field(pattern=_SHA256)
    text_size: int = Field(ge=0)

    def fields(self) -> dict[str, JsonValue]:
        """The action as JSON, for storage and for its digest."""
        return self.model_dump(mode="json")


_ACTIONS: TypeAdapter[CommandAction | ProcessInputAction] = TypeAdapter(CommandAction | ProcessInputAction)


def command_action(fields: dict[str, JsonValue]) -> CommandAction | ProcessInputAction:
    """Read a stored action of kind `command` back; a `ValidationError` says that it is none."""
    return _ACTIONS.validate_python(fields)


class CommandInput(BaseModel):
    """What a command is given that its action holds only digests of, and how long it may take; stored beside it.

    Attributes:
        stdin: what it can read at first.
        environment: all variables it gets, with values.
        timeout_s: seconds until it is killed; an interactive one ends otherwise (E15).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    stdin: str = ""
    environment: dict[str, str] = Field(default_factory=dict)
    timeout_s: int = Field(default=TIMEOUT_S, ge=1, le=LONGEST_TIMEOUT_S)

    @classmethod
    def read(cls, content: bytes) -> Self:
        """Read the stored form back."""
        return cls.model_validate_json(content)

    def content(self) -> bytes:
        """The stored form."""
        return self.model_dump_json().encode()


def process_of(effect_id: str) -> str:
    """The id of the process that an interactive command's effect starts."""
    return f"{_PROCESS}{effect_id.removeprefix(_EFFECT)}"


def effect_of(process_id: str) -> str | None:
    """The effect that started a process; None for text that names no process."""
    return f"{_EFFECT}{process_id.removeprefix(_PROCESS)}" if process_id.startswith(_PROCESS) else None
