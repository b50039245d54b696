"""What a command's words lead to (E2, E3, E16): programs by content, folders without links, nothing into the state."""

import hashlib
import os
from pathlib import Path

import pytest

from adapters.command_resolution import CommandResolution
from domain.refusal import Refused
from tests.command_world import CommandWorld


@pytest.fixture
def world(tmp_path: Path) -> CommandWorld:
    """Folders with a program in them."""
    world = CommandWorld(tmp_path / "home")
    program(world.root / "tools/run.sh")
    (world.state / "secret").write_text("planted")
    return world


def program(path: Path, content: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(0o755)
    return path


def refused(resolution: CommandResolution, name: str, folder: str) -> str:
    with pytest.raises(Refused) as error:
        resolution.program(name, folder)
    assert folder not in error.value.refusal.message
    return error.value.refusal.code


def test_a_program_is_its_real_path_and_content(world: CommandWorld) -> None:
    """E2: links are followed to the file that runs, and its content is hashed; a change of it is another program."""
    (world.root / "tools/link").symlink_to("run.sh")
    found = world.resolution.program("tools/link", str(world.root))
    assert found.path == str(world.root / "tools/run.sh")
    assert found.sha256 == hashlib.sha256(b"#!/bin/sh\n").hexdigest()
    program(world.root / "tools/run.sh", "#!/bin/sh\nexit 1\n")
    changed = world.resolution.program("tools/link", str(world.root))
    assert changed.sha256 != found.sha256
    assert changed.seen != found.seen
    (world.root / "tools/link").unlink()
    (world.root / "tools/link").symlink_to(program(world.root / "tools/other.sh"))
    assert world.resolution.program("tools/link", str(world.root)).path == str(world.root / "tools/other.sh")


def test_a_bare_name_is_looked_for_in_the_systems_folders_only(world: CommandWorld) -> None:
    """E15: neither the working folder nor the worker's own PATH decides what `sh` is."""
    program(world.root / "sh")
    found = world.resolution.program("sh", str(world.root))
    assert found.path == os.path.realpath("/bin/sh")
    assert refused(world.resolution, "run.sh", str(world.root / "tools")) == "not_found"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("no-such-program", "not_found"),
        ("./none", "not_found"),
        ("tools/run.sh/x", "not_found"),
        ("./tools", "invalid_params"),
        ("./plain", "invalid_params"),
        ("./fifo", "invalid_params"),
        ("./loop", "invalid_params"),
        ("./into-state", "protected_path"),
        ("../state/tool", "protected_path"),
    ],
)
def test_what_is_no_program_is_refused(world: CommandWorld, name: str, code: str) -> None:
    """E3: absent, no file, not executable, inside the state folder; no message names an absolute path."""
    (world.root / "plain").write_text("x")
    os.mkfifo(world.root / "fifo", 0o755)
    (world.root / "loop").symlink_to("loop")
    program(world.state / "tool")
    (world.root / "into-state").symlink_to(world.state / "tool")
    assert refused(world.resolution, name, str(world.root)) == code


@pytest.mark.parametrize(
    ("folder", "code"),
    [("..", "protected_path"), ("/etc", "protected_path"), ("link", "protected_path"), ("none", "not_found"),
     ("a\0b", "invalid_params"), ("x" * 300, "invalid_params"), ("plain", "protected_path")],
)  # fmt: skip
def test_the_working_folder_is_inside_the_files_folder(world: CommandWorld, folder: str, code: str) -> None:
    """E3, E15: walked without following links."""
    (world.root / "link").symlink_to("/etc")
    (world.root / "plain").write_text("x")
    with pytest.raises(Refused) as error:
        world.resolution.folder(folder)
    assert error.value.refusal.code == code


INTO_STATE = (
    "{state}", "{state}/secret", "../state/secret", "../state", "../../home/state/x", "link", "link/secret", "./link",
    "--file={state}/secret", "if={state}/secret", "cat '../state/secret' | mail", "$(cat link/secret)", "x=link",
    "a:{state}:b", "file://{state}/secret", "{state}/../state/secret", "tools/../link", "first\nlink\nlast",
)  # fmt: skip
ELSEWHERE = ("", ".", "tools/run.sh", "/etc/passwd", "state", "a state of mind", "{root}/state", "..", "x" * 5000, "~")


@pytest.mark.parametrize("value", INTO_STATE)
def test_a_value_that_leads_into_the_state_is_refused(world: CommandWorld, value: str) -> None:
    """E16: as a whole, as a word of it, relative to the working folder, or through a link."""
    (world.root / "link").symlink_to(world.state)
    given = value.format(state=world.state, root=world.root)
    with pytest.raises(Refused) as error:
        world.resolution.refuse_protected(["harmless", given], str(world.root))
    assert error.value.refusal.code == "protected_path"


@pytest.mark.parametrize("value", ELSEWHERE)
def test_a_value_that_leads_elsewhere_is_not(world: CommandWorld, value: str) -> None:
    """E16: no more is refused than leads there."""
    given = value.format(state=world.state, root=world.root)
    world.resolution.refuse_protected([given], str(world.root))
