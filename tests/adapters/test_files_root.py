"""The files root against everything a folder can hold: links, hard links, pipes, devices, `state/` (E3, E4)."""

import hashlib
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from adapters.atomic_write import temporary_file
from adapters.file_access import FileAccessError
from adapters.files_root import FilesRoot
from domain.file_paths import TEMPORARY_PREFIX
from domain.file_state import Absent, Present
from domain.refusal import Refused

Operation = Callable[[FilesRoot, str], object]


def present(content: bytes) -> Present:
    return Present(hashlib.sha256(content).hexdigest(), len(content))


def write_new(files: FilesRoot, path: str) -> object:
    return files.write(path, b"new", Absent())


def write_over(files: FilesRoot, path: str) -> object:
    return files.write(path, b"new", present(b"secret"))


OPERATIONS: dict[str, Operation] = {
    "inspect": FilesRoot.inspect,
    "read": lambda files, path: files.read(path, 10),
    "copy_out": lambda files, path: list(files.copy_out(path, 10)),
    "write_new": write_new,
    "write_over": write_over,
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for folder in ("files/docs", "outside", "state"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "outside/secret.txt").write_bytes(b"secret")
    (tmp_path / "state/owner.token").write_bytes(b"secret")
    (tmp_path / "files/docs/a.txt").write_bytes(b"old")
    return tmp_path


@pytest.fixture
def files(home: Path) -> FilesRoot:
    return FilesRoot(home / "files", (home / "state",))


def tree(folder: Path) -> dict[str, bytes | None]:
    found = {}
    for path in sorted(folder.rglob("*")):
        ordinary = path.is_file() and not path.is_symlink()
        found[str(path.relative_to(folder))] = path.read_bytes() if ordinary else None
    return found


def refused_code(operation: Operation, files: FilesRoot, path: str) -> str:
    with pytest.raises(Refused) as caught:
        operation(files, path)
    assert str(files.root) not in str(caught.value)
    assert caught.value.refusal.message
    return caught.value.refusal.code


def make_special(home: Path) -> None:
    files = home / "files"
    (files / "link.txt").symlink_to(home / "outside/secret.txt")
    (files / "dangling").symlink_to(home / "outside/none")
    (files / "inner.txt").symlink_to(files / "docs/a.txt")
    (files / "linked").symlink_to(home / "outside")
    (files / "docs/linked").symlink_to(home / "outside")
    (files / "loop").symlink_to(files / "loop")
    (files / "to-state").symlink_to(home / "state")
    os.link(home / "outside/secret.txt", files / "hard.txt")
    os.mkfifo(files / "pipe")
    os.mknod(files / "sock", stat.S_IFSOCK | 0o600)
    (files / "deep/er").mkdir(parents=True)
    (files / "deep/er/link").symlink_to("..")


SPECIAL = [
    *("link.txt", "dangling", "inner.txt", "linked", "loop", "loop/x", "hard.txt", "pipe", "sock", "docs", "pipe/x"),
    *("linked/secret.txt", "linked/new.txt", "docs/linked/secret.txt", "docs/linked/a/b", "to-state/owner.token"),
    *("docs/a.txt/child", "deep/er/link/er/x", "deep/er/link"),
    *("../outside/secret.txt", "docs/../../outside/x", "/dev/null", "/"),
]


@pytest.mark.parametrize("path", SPECIAL)
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_special_files_and_ways_out_are_protected(
    home: Path, files: FilesRoot, operation: Operation, path: str
) -> None:
    """E3, E4: links at any depth, hard links, pipes, sockets, folders and ways out are refused; nothing changes."""
    make_special(home)
    before = tree(home)
    assert refused_code(operation, files, path) == "protected_path"
    assert tree(home) == before


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_devices_are_protected(operation: Operation) -> None:
    """E3: a device is refused without being opened (the root is a folder of devices here)."""
    assert refused_code(operation, FilesRoot(Path("/dev")), "null") == "protected_path"


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
@pytest.mark.parametrize("path", ["a\0b", "\udc80", "n" * 256, "d/" * 2050 + "x"])
def test_impossible_paths(files: FilesRoot, operation: Operation, path: str) -> None:
    """E3: NUL, not UTF-8 and over-long are `invalid_params`."""
    assert refused_code(operation, files, path) == "invalid_params"


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
@pytest.mark.parametrize("exists", [True, False])
def test_protected_folder_inside_the_root(home: Path, operation: Operation, exists: bool) -> None:
    """E3: the state folder stays closed where it lies inside the root, also before it exists."""
    state = home / "files/.steward/state"
    if exists:
        state.mkdir(parents=True)
        (state / "owner.token").write_bytes(b"secret")
    files = FilesRoot(home / "files", (state,))
    for path in (".steward/state/owner.token", ".steward/state/new/deep.txt", ".steward/state"):
        assert refused_code(operation, files, path) == "protected_path"
    assert state.exists() is exists
    assert files.sweep_temporary() == 0


def test_protected_folder_by_identity(home: Path) -> None:
    """E3: a protected folder is known by device and inode, whatever name it was moved to."""
    files = FilesRoot(home / "files", (home / "state",))
    (home / "state").rename(home / "files/innocent")
    (home / "state").symlink_to(home / "files/innocent")
    assert refused_code(FilesRoot.inspect, files, "innocent/owner.token") == "protected_path"


def test_inspect(home: Path, files: FilesRoot) -> None:
    """E1, E2: a path's state, its absolute form for the digest, and the folders a write would make."""
    found = files.inspect("./docs//a.txt")
    assert (found.path, found.state, found.missing_parents) == ("docs/a.txt", present(b"old"), ())
    assert found.absolute_path == str((home / "files").resolve() / "docs/a.txt")
    assert files.inspect("docs/x/y/z.txt").missing_parents == ("docs/x", "docs/x/y")
    assert files.inspect("docs/none").state == Absent()
    assert not (home / "files/docs/x").exists()


def test_write_new_file_makes_parents(home: Path, files: FilesRoot) -> None:
    """E1, E4: missing parents are made and named; content, digest and ordinary permissions are as expected."""
    written = files.write("docs/x/y/z.txt", b"text", Absent())
    assert written.created_parents == ("docs/x", "docs/x/y")
    assert (written.sha256, written.size) == (present(b"text").sha256, 4)
    assert (home / "files/docs/x/y/z.txt").read_bytes() == b"text"
    assert stat.S_IMODE((home / "files/docs/x/y/z.txt").stat().st_mode) & 0o133 == 0


def test_write_over_keeps_permissions(home: Path, files: FilesRoot) -> None:
    """E4: the replaced file's permissions stay, set-id bits aside."""
    target = home / "files/docs/a.txt"
    target.chmod(0o4750)
    files.write("docs/a.txt", b"newer", present(b"old"))
    assert target.read_bytes() == b"newer"
    assert stat.S_IMODE(target.stat().st_mode) == 0o750
    assert list(tree(home / "files")) == ["docs", "docs/a.txt"]


@pytest.mark.parametrize(
    ("path", "precondition"),
    [
        ("docs/a.txt", Absent()),
        ("docs/a.txt", present(b"new")),
        ("docs/a.txt", present(b"older")),
        ("docs/none.txt", present(b"old")),
        ("none/none.txt", present(b"old")),
    ],
)
def test_precondition(home: Path, files: FilesRoot, path: str, precondition: Absent | Present) -> None:
    """E2, E4: a path that is not as expected is `precondition_changed`, and nothing is left behind."""
    before = tree(home)
    assert refused_code(lambda root, name: root.write(name, b"x", precondition), files, path) == "precondition_changed"
    assert tree(home) == before


def test_large_content(files: FilesRoot) -> None:
    """E4: content of several chunks is written, hashed and read back."""
    content = os.urandom(3 * 1024 * 1024 + 17)
    files.write("big.bin", content, Absent())
    assert files.inspect("big.bin").state == present(content)
    assert b"".join(files.copy_out("big.bin", len(content))) == content
    files.write("big.bin", b"", present(content))
    assert files.inspect("big.bin").state == present(b"")


def test_read(files: FilesRoot) -> None:
    """Reading is bounded; text is cut between characters and comes without its byte order mark."""
    files.write("t.txt", "\ufeffäöü".encode(), Absent())
    found = files.read_text("t.txt", 6)
    assert (found.text, found.size, found.truncated) == ("ä", 9, True)
    assert files.read_text("t.txt", 9).text == "äöü"
    assert files.read("t.txt", 100).truncated is False
    files.write("b.bin", b"\xff\0", Absent())
    assert refused_code(lambda root, path: root.read_text(path, 10), files, "b.bin") == "invalid_params"
    files.write("cut.txt", b"caf\xc3", Absent())
    assert refused_code(lambda root, path: root.read_text(path, 10), files, "cut.txt") == "invalid_params"
    for path in ("none", "none/none"):
        assert refused_code(lambda root, name: root.read(name, 10), files, path) == "not_found"


def test_copy_out_has_a_limit(files: FilesRoot) -> None:
    """T5: a file over the limit is refused with limit and value before a byte is copied."""
    with pytest.raises(Refused) as caught:
        next(files.copy_out("docs/a.txt", 2))
    assert (caught.value.refusal.code, dict(caught.value.refusal.details)) == (
        "invalid_params",
        {"limit": 2, "value": 3},
    )


def test_list_folder(home: Path, files: FilesRoot) -> None:
    """A listing is sorted and bounded, hides unfinished writes and marks what the tools refuse."""
    make_special(home)
    (home / "files" / f"{TEMPORARY_PREFIX}{'0' * 32}").touch()
    (home / "files" / os.fsdecode(b"bad\xff")).touch()
    kinds = {entry.name: entry.kind for entry in files.list_folder().entries}
    assert kinds["docs"] == kinds["deep"] == "folder"
    assert all(kinds[name] == "other" for name in ("link.txt", "linked", "hard.txt", "pipe", "sock", "bad\ufffd"))
    assert not any(name.startswith(TEMPORARY_PREFIX) for name in kinds)
    (entry, link), truncated = (lambda listing: (listing.entries, listing.truncated))(files.list_folder("docs/"))
    assert (entry.name, entry.kind, entry.size, link.kind, truncated) == ("a.txt", "file", 3, "other", False)
    for number in range(1001):
        (home / "files/deep" / f"{number:04}").touch()
    listing = files.list_folder("deep")
    assert (len(listing.entries), listing.entries[-1].name, listing.truncated) == (1000, "0999", True)
    for path, code in (("none", "not_found"), ("linked", "protected_path"), ("docs/a.txt", "protected_path")):
        assert refused_code(FilesRoot.list_folder, files, path) == code


def test_observe(home: Path, files: FilesRoot) -> None:
    """E13: reconciliation sees present, absent, or that it cannot tell."""
    make_special(home)
    assert files.observe("docs/a.txt") == present(b"old")
    assert files.observe("docs/none") == Absent()
    assert files.observe("link.txt") is None
    assert FilesRoot(home / "none").observe("x") is None


def test_system_failures_name_no_path(home: Path) -> None:
    """I9: a failure of the system says which error it was, and neither its text nor its causes hold a path."""
    with pytest.raises(FileAccessError) as caught:
        FilesRoot(home / "none").read("x", 1)
    assert (caught.value.reason, caught.value.published, str(caught.value)) == (
        "ENOENT",
        False,
        "The file system answered ENOENT.",
    )
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("path", ["docs/a.txt", "docs/new/x"])
def test_unreadable_is_protected(files: FilesRoot, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """E3: what the system does not let Steward open is refused, as file and as folder on the way."""
    real = os.open

    def denied(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if name in ("a.txt", "docs") and (name == "a.txt") == path.endswith("a.txt"):
            raise PermissionError(13, "Permission denied", name)
        return real(name, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", denied)
    assert refused_code(FilesRoot.inspect, files, path) == "protected_path"


def test_failed_write_leaves_nothing(home: Path, files: FilesRoot, monkeypatch: pytest.MonkeyPatch) -> None:
    """E4: a disk that fails in the middle leaves neither a temporary file nor the folders made for it."""
    before = tree(home)

    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device", "name")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(FileAccessError, match="ENOSPC"):
        files.write("new/er/x.txt", b"x", Absent())
    assert tree(home) == before


def test_failure_after_the_rename_is_told(home: Path, files: FilesRoot, monkeypatch: pytest.MonkeyPatch) -> None:
    """E4, E13: when only the folder's fsync fails the content may be in place, and the failure says so."""
    real = os.fsync

    def folder_fails(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(5, "I/O error")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", folder_fails)
    with pytest.raises(FileAccessError) as caught:
        files.write("x.txt", b"x", Absent())
    assert caught.value.published
    assert (home / "files/x.txt").read_bytes() == b"x"


KILLED = """
import os, signal, sys
from pathlib import Path
import adapters.file_writing as writing
from adapters.files_root import FilesRoot
from domain.file_state import Absent
writing.rename_noreplace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
FilesRoot(Path(sys.argv[1])).write("docs/x.txt", b"x", Absent())
"""


def test_sweep_takes_what_a_killed_writer_left(home: Path, files: FilesRoot) -> None:
    """E4: kill -9 between temporary file and rename leaves no target, and the sweep removes the rest."""
    killed = subprocess.run([sys.executable, "-c", KILLED, str(home / "files")], cwd=Path(__file__).parents[2])
    assert killed.returncode == -9
    (left,) = (home / "files/docs").glob(f"{TEMPORARY_PREFIX}*")
    assert re.fullmatch(r"[0-9a-f]{32}", left.name.removeprefix(TEMPORARY_PREFIX))
    assert not (home / "files/docs/x.txt").exists()
    assert files.sweep_temporary() == 1
    assert list(tree(home / "files")) == ["docs", "docs/a.txt"]


def test_sweep_spares_living_writers_and_strangers(home: Path, files: FilesRoot) -> None:
    """E4: a sweep touches neither a write in progress, nor look-alikes, nor anything behind a link."""
    make_special(home)
    strangers = [home / "files" / f"{TEMPORARY_PREFIX}notes", home / "outside" / f"{TEMPORARY_PREFIX}{'0' * 32}"]
    for stranger in strangers:
        stranger.touch()
    folder = os.open(home / "files/docs", os.O_RDONLY)
    try:
        with temporary_file(folder, b"x", None) as name:
            assert files.sweep_temporary() == 0
            assert (home / "files/docs" / name).exists()
    finally:
        os.close(folder)
    assert all(stranger.exists() for stranger in strangers)


class OpenDescriptors:
    """The descriptors that the code under test holds; others of the process do not count."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.held: set[int] = set()
        self.peak = 0
        for name in ("open", "dup"):
            patch.setattr(os, name, self._counted(getattr(os, name)))
        close = os.close

        def closed(descriptor: int) -> None:
            close(descriptor)
            self.held.remove(descriptor)

        patch.setattr(os, "close", closed)

    def _counted(self, real: Callable[..., int]) -> Callable[..., int]:
        def counted(*args: Any, **kwargs: Any) -> int:
            descriptor = real(*args, **kwargs)
            self.held.add(descriptor)
            self.peak = max(self.peak, len(self.held))
            return descriptor

        return counted


def test_no_descriptor_is_left_open(home: Path, files: FilesRoot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused and successful calls close what they opened."""
    make_special(home)
    descriptors = OpenDescriptors(monkeypatch)
    for path in ("docs/a.txt", "link.txt", "linked/x", "pipe", "none/x"):
        for operation in OPERATIONS.values():
            with suppress(Refused):
                operation(files, path)
    files.list_folder()
    files.sweep_temporary()
    assert descriptors.peak > 1
    assert not descriptors.held


def test_depth_costs_no_descriptors(files: FilesRoot, monkeypatch: pytest.MonkeyPatch) -> None:
    """E4: a deep path is walked with a handful of descriptors."""
    descriptors = OpenDescriptors(monkeypatch)
    path = "d/" * 300 + "x"
    assert len(files.write(path, b"x", Absent()).created_parents) == 300
    assert files.read(path, 1).content == b"x"
    assert descriptors.peak < 6
    assert not descriptors.held
