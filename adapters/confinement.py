"""Confining commands with bubblewrap where it works (E16): only the files folder is writable, Steward's home hidden.

Whether it works is found out by running it once: it may be missing, and user namespaces may be forbidden. What is not
claimed: a confined command can read the rest of the machine's files.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROGRAM: Final = "bwrap"
SEARCHED: Final = "/usr/local/bin:/usr/bin:/bin"
PROBE_S: Final = 10.0
_HIDDEN: Final = ("/tmp", "/var/tmp", "/run", "/var/run", "/dev/shm")
"""Folders of other programs' sockets and leftovers; each command has empty ones of its own."""
_NAMES: Final = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager")
"""Where names are resolved from, for a command with network."""


@dataclass(frozen=True, slots=True)
class Confinement:
    """How commands are confined here.

    Attributes:
        program: bubblewrap, None where it is missing or does not work; then `reason` says why, in words.
        files: the files folder, the only writable one; `home` what is hidden around it.
    """

    program: str | None
    reason: str | None
    files: Path
    home: Path

    @property
    def works(self) -> bool:
        """Whether commands are confined."""
        return self.program is not None

    def hides(self, path: str) -> bool:
        """Whether a confined command cannot see what is at the real path."""
        found = Path(path)
        if found.is_relative_to(self.files):
            return False
        hidden = [self.home, *(Path(path).resolve() for path in _HIDDEN)]
        return any(found.is_relative_to(folder) for folder in hidden)

    def wrap(self, program: str, argv: Sequence[str], folder: str, *, network: bool) -> tuple[str, ...]:
        """The arguments, from the program's name on, that run a command confined.

        Args:
            program: absolute path by which it was found; it is also what the program sees as its name.
            argv: the command; its first word is replaced by `program`.
            folder: absolute working folder.
            network: whether it may use the network.
        """
        hidden = [part for path in _HIDDEN if _is_folder(path) for part in ("--tmpfs", path)]
        names = [part for path in _NAMES for part in ("--ro-bind-try", path, path)] if network else []
        return (
            PROGRAM,
            "--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
            *(() if network else ("--unshare-net",)),
            "--die-with-parent", "--new-session", "--cap-drop", "ALL",
            "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *hidden, *names,
            "--tmpfs", str(self.home), "--bind", str(self.files), str(self.files),
            "--remount-ro", str(self.home),
            "--chdir", folder,
            "--", program, *argv[1:],
        )  # fmt: skip


def find_confinement(files: Path, home: Path, program: str | None = None) -> Confinement:
    """Look for bubblewrap and try it once; blocks for as long as a process takes to start.

    Args:
        files: the files folder, existing.
        home: the folder to hide, existing.
        program: another path of the program.
    """
    files, home = files.resolve(), home.resolve()
    found = program or shutil.which(PROGRAM, path=SEARCHED)
    if found is None:
        return Confinement(None, "bubblewrap (bwrap) is not installed", files, home)
    tried = Confinement(found, None, files, home)
    try:
        argv = tried.wrap("/bin/sh", ("sh", "-c", "exit 0"), str(files), network=False)
        answer = subprocess.run(
            (found, *argv[1:]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            timeout=PROBE_S, check=False, env={"PATH": SEARCHED},
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return Confinement(None, "bubblewrap (bwrap) cannot be run", files, home)
    if answer.returncode != 0:
        return Confinement(None, "bubblewrap (bwrap) is not allowed to make namespaces here", files, home)
    return tried


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)
