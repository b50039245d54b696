"""The exact action of a command call (E2, E15, E16): program, folder, environment, confinement, the card's words."""

import hashlib
from typing import Final

from activities.command_effect import CommandEffect, environment_of
from adapters.command_resolution import SEARCHED, CommandResolution
from adapters.confinement import Confinement
from assistant.tool_arguments import ProcessInput, RunCommand
from contracts.run import RunPoint
from domain.command_action import (
    TIMEOUT_S,
    CommandAction,
    CommandInput,
    Executable,
    ProcessInputAction,
)
from domain.command_words import (
    command_details,
    command_impact,
    command_words,
    input_details,
    input_impact,
    input_words,
)
from domain.effect import EffectKind
from domain.refusal import refuse
from store.effects import Proposal

_EVERYWHERE: Final = {"PATH": SEARCHED, "LANG": "C.UTF-8", "TERM": "dumb"}
"""What every command finds in its environment, with `HOME`, which is the files folder, and Steward's mark (E15)."""


class CommandProposals:
    """Makes proposals of calls that run commands; the methods block."""

    def __init__(self, resolution: CommandResolution, confinement: Confinement, effect: CommandEffect) -> None:
        self._resolution = resolution
        self._confinement = confinement
        self._effect = effect

    def running(self, point: RunPoint, arguments: RunCommand) -> Proposal:
        """What running the command would be.

        Raises:
            Refused: it cannot become an action.
            FileAccessError: the system failed.
        """
        permissions = self._effect.permissions
        folder = self._resolution.folder(arguments.cwd or "")
        program = self._resolution.program(arguments.argv[0], folder)
        if permissions.confined and self._confinement.hides(program.path):
            raise refuse("protected_path", "A confined command cannot see this program. Put it into the files folder.")
        added = arguments.env or {}
        if not permissions.confined:
            given_values = (*arguments.argv, *added.values(), arguments.stdin or "")
            self._resolution.refuse_protected(given_values, folder)
        given = CommandInput(
            stdin=arguments.stdin or "",
            environment={**_EVERYWHERE, "HOME": str(self._resolution.files.root), **added},
            timeout_s=arguments.timeout_s or TIMEOUT_S,
        )
        action = CommandAction(
            argv=tuple(arguments.argv),
            executable=Executable(path=program.path, sha256=program.sha256),
            cwd=folder,
            environment=environment_of(given),
            permissions=permissions,
            stdin_sha256=hashlib.sha256(given.stdin.encode()).hexdigest(),
            interactive=bool(arguments.interactive),
        )
        place = self._resolution.relative(folder)
        names = sorted(added)
        shown_program = self._resolution.shown(program)
        return _proposal(
            point,
            action,
            given.content(),
            command_words(action, place),
            command_impact(action, given, names),
            command_details(action, place, shown_program, given, names),
        )

    def sending(self, point: RunPoint, arguments: ProcessInput) -> Proposal:
        """What giving text to a running command would be.

        Raises:
            Refused: `not_found` when this run has no such command.
        """
        running = self._effect.process(arguments.process_id, point.run.run_id).order.action
        text = arguments.text.encode()
        action = ProcessInputAction(
            process_id=arguments.process_id,
            executable=running.executable,
            text_sha256=hashlib.sha256(text).hexdigest(),
            text_size=len(text),
        )
        return _proposal(
            point,
            action,
            text,
            input_words(running.argv, arguments.text),
            input_impact(len(text)),
            input_details(running.argv, arguments.text),
        )


def _proposal(
    point: RunPoint,
    action: CommandAction | ProcessInputAction,
    content: bytes,
    words: dict[str, str],
    impact: dict[str, str],
    details: str,
) -> Proposal:
    return Proposal(
        run=point.run,
        step=point.step,
        index=point.index,
        kind=EffectKind.COMMAND,
        action=action.fields(),
        content=content,
        words=words,
        impact=impact,
        preview=details,
    )
