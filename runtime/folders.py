"""Creates the folders of an instance, closed to other users (H4)."""

import os
from pathlib import Path

from domain.refusal import Refused, refuse
from runtime.settings import Settings

PRIVATE = 0o700


def prepare_folders(settings: Settings) -> None:
    """Create home, run, state and files with mode 0700 where they are missing, and close those inside home.

    A home that exists keeps its mode: it may be a folder that is not Steward's alone.

    Raises:
        Refused: `invalid_params`, when a folder cannot be created or is something else.
    """
    try:
        settings.home.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    except OSError as error:
        raise _refused(settings.home, error) from None
    space = settings.space_dir
    inside = (settings.run_dir, space.parent.parent, space.parent, space, settings.state_dir, settings.files_dir)
    for folder in inside:
        try:
            _make_private(folder)
        except OSError as error:
            raise _refused(folder, error) from None


def _make_private(folder: Path) -> None:
    folder.mkdir(mode=PRIVATE, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if os.fstat(descriptor).st_mode & 0o777 != PRIVATE:
            os.fchmod(descriptor, PRIVATE)
    finally:
        os.close(descriptor)


def _refused(folder: Path, error: OSError) -> Refused:
    return refuse(
        "invalid_params",
        f"STEWARD_HOME: the folder {folder.name!r} cannot be created or closed to others ({error.strerror}).",
    )
