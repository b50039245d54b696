"""Confinement of commands (E16): what it forbids where it works, and that its absence is never silent.

What a machine can do decides which of the two a test looks at; neither is skipped anywhere.
"""

import shutil
import socket
import stat
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from adapters.confinement import SEARCHED, Confinement, find_confinement
from tests.command_world import CommandWorld


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[CommandWorld]:
    """A keeper with its folders, and a secret in the state folder."""
    world = CommandWorld(tmp_path / "home")
    (world.state / "secret").write_text("planted")
    await world.keeper.open()
    yield world
    await world.keeper.close()


def works(world: CommandWorld) -> bool:
    """Whether this machine confines; where it does not, the reason is in words and matches what is installed."""
    found = world.confinement()
    if found.works:
        assert found.reason is None
    else:
        assert found.reason is not None
        assert ("not installed" in found.reason) == (shutil.which("bwrap", path=SEARCHED) is None)
    return found.works


async def test_a_confined_command_changes_nothing_but_files(world: CommandWorld, tmp_path: Path) -> None:
    """E16: the file system is read-only but the files folder; what is temporary is the command's own."""
    confined = works(world)
    outside, temporary = tmp_path / "outside", Path("/tmp") / f"steward-{tmp_path.name}"
    await world.run(
        "sh", "-c", 'echo a > inside; echo b > "$1"; echo c > "$2"', "sh", str(outside), str(temporary),
        confined=confined,
    )  # fmt: skip
    try:
        assert (world.root / "inside").read_text() == "a\n"
        assert [path.exists() for path in (outside, temporary)] == [not confined, not confined]
    finally:
        temporary.unlink(missing_ok=True)


@pytest.mark.parametrize("way", ["path", "link", "folder", "process"])
async def test_a_confined_command_does_not_find_the_state(world: CommandWorld, way: str) -> None:
    """E16: `state/` is hidden, by name, through links, and through other processes."""
    (world.root / "link").symlink_to(world.state / "secret")
    scripts = {
        "path": f"cat {world.state}/secret",
        "link": "cat link",
        "folder": f"cd {world.state} && cat *",
        "process": f"cat /proc/[0-9]*/root{world.state}/secret /proc/*/cwd/../state/secret",
    }
    confined = works(world)
    record = await world.run("sh", "-c", scripts[way], confined=confined)
    if confined:
        assert "planted" not in record["stdout"]
    else:
        assert "planted" in record["stdout"]


@pytest.fixture
def listener() -> Iterator[int]:
    """A server on loopback that says hello; its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(b"hello")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield int(server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)
    thread.join(10)


@pytest.mark.parametrize("network", [False, True])
async def test_the_network_is_off_unless_it_is_permitted(world: CommandWorld, listener: int, network: bool) -> None:
    """E16: off in a confined command; without confinement it is always there."""
    confined = works(world)
    caller = world.root / "caller"
    caller.write_text(
        "#!/usr/bin/env python3\nimport socket\n"
        f"print(socket.create_connection(('127.0.0.1', {listener}), 30).recv(9))\n"
    )
    caller.chmod(0o755)
    record = await world.run("./caller", confined=confined, network=network)
    assert ("hello" in record["stdout"]) == (network or not confined)


async def test_a_confined_command_cannot_undo_it(world: CommandWorld, tmp_path: Path) -> None:
    """E16: no capability is left to mount with, and nothing of the machine's processes is in sight."""
    confined = works(world)
    record = await world.run(
        "sh", "-c", "mount -o remount,rw / 2>/dev/null; mount --bind / /tmp 2>/dev/null; "
        'echo x > "$1"; grep CapEff /proc/self/status; echo /proc/[0-9]*', "sh", str(tmp_path / "planted"),
        confined=confined,
    )  # fmt: skip
    if confined:
        assert not (tmp_path / "planted").exists()
        assert "CapEff:\t0000000000000000" in record["stdout"]
        assert len(record["stdout"].splitlines()[-1].split()) < 6


def test_without_the_program_there_is_a_reason(tmp_path: Path) -> None:
    """E16: missing or failing, commands are not confined and somebody can read why."""
    failing = tmp_path / "failing"
    failing.write_text("#!/bin/sh\nexit 1\n")
    failing.chmod(0o755)
    missing = find_confinement(tmp_path, tmp_path, str(tmp_path / "none"))
    broken = find_confinement(tmp_path, tmp_path, str(failing))
    assert [missing.works, broken.works] == [False, False]
    assert missing.reason == "bubblewrap (bwrap) cannot be run"
    assert broken.reason == "bubblewrap (bwrap) is not allowed to make namespaces here"


def test_the_program_is_asked_for_all_of_it(tmp_path: Path) -> None:
    """E16: what bubblewrap is told, shown by a stand-in that writes it down, on every machine."""
    heard, stand_in = tmp_path / "heard", tmp_path / "stand-in"
    stand_in.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {heard}\n')
    stand_in.chmod(stand_in.stat().st_mode | stat.S_IXUSR)
    home, files = tmp_path / "home", tmp_path / "home/files"
    files.mkdir(parents=True)
    assert find_confinement(files, home, str(stand_in)).works
    told = heard.read_text().splitlines()
    for wanted in ("--unshare-net", "--unshare-pid", "--die-with-parent", "--new-session"):
        assert wanted in told
    following = [" ".join(told[at : at + 3]) for at in range(len(told))]
    places = [following.index(wanted) for wanted in ("--ro-bind / /", f"--bind {files} {files}")]
    hidden = next(at for at, words in enumerate(following) if words.startswith(f"--tmpfs {home} "))
    assert places[0] < hidden < places[1] < told.index("--remount-ro") < told.index("--")


def test_only_a_network_that_was_permitted_is_shared(tmp_path: Path) -> None:
    """E16: the one difference that the permission makes to namespaces."""
    confinement = Confinement("/bin/true", None, tmp_path / "files", tmp_path)
    without = confinement.wrap("/bin/ls", ("ls", "-l"), "/f", network=False)
    permitted = confinement.wrap("/bin/ls", ("ls", "-l"), "/f", network=True)
    assert ("--unshare-net" in without, "--unshare-net" in permitted) == (True, False)
    assert without[-3:] == permitted[-3:] == ("--", "/bin/ls", "-l")


def test_what_a_confined_command_cannot_see_is_known_before(tmp_path: Path) -> None:
    """E16: a program in a hidden folder could not be started; one in the files folder can."""
    confinement = Confinement("/bin/true", None, tmp_path / "home/files", tmp_path / "home")
    assert confinement.hides(str(tmp_path / "home/state/tool"))
    assert confinement.hides("/run/tool")
    assert not confinement.hides(str(tmp_path / "home/files/tool"))
    assert not confinement.hides("/usr/bin/env")
