"""Races against the walk and the write: whatever is swapped meanwhile, nothing is written outside (E4)."""

import hashlib
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import adapters.file_writing
from adapters.atomic_write import temporary_file
from adapters.files_root import FilesRoot
from adapters.rename_noreplace import rename_by_link, rename_noreplace
from domain.file_state import Absent, Present
from domain.refusal import Refused

ROUNDS = int(os.environ.get("RACE_ROUNDS", "1500"))
"""Walks and writes of each race; more by hand: `RACE_ROUNDS=4000 pytest tests/adapters/test_files_races.py`."""


def present(content: bytes) -> Present:
    return Present(hashlib.sha256(content).hexdigest(), len(content))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "files/a/b").mkdir(parents=True)
    (tmp_path / "outside/b").mkdir(parents=True)
    (tmp_path / "outside/b/x.txt").write_bytes(b"secret")
    (tmp_path / "files/a/b/x.txt").write_bytes(b"0")
    return tmp_path


@contextmanager
def meanwhile(step: Callable[[], None]) -> Iterator[None]:
    done = threading.Event()

    def repeat() -> None:
        while not done.is_set():
            step()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def swap_folder(home: Path, name: str) -> Callable[[], None]:
    """One round: the folder is replaced by a link to the outside, and put back."""
    folder, aside = home / "files" / name, home / "files/aside"
    outside = home / "outside" / Path(name).relative_to("a")

    numbers = itertools.count()

    def step() -> None:
        folder.rename(aside)
        # A write that finds the name missing makes the folder anew; that one then stays beside it, inside.
        with suppress(FileExistsError):
            folder.symlink_to(outside)
            folder.unlink()
        while aside.exists():
            try:
                aside.rename(folder)
            except OSError:
                with suppress(FileNotFoundError):
                    folder.rename(home / "files" / f"made-{next(numbers)}")

    return step


@pytest.mark.parametrize("swapped", ["a", "a/b"])
def test_a_folder_swapped_for_a_link_never_leads_outside(home: Path, swapped: str) -> None:
    """E4: thousands of swaps at two depths; every write is inside or refused, and both happen."""
    files = FilesRoot(home / "files")
    written = 0
    codes: set[str] = set()
    with meanwhile(swap_folder(home, swapped)):
        for number in range(ROUNDS):
            try:
                if number % 2:
                    files.write(f"a/b/new{number}.txt", b"x", Absent())
                else:
                    assert files.read("a/b/x.txt", 10).content == b"0"
            except Refused as refusal:
                codes.add(refusal.refusal.code)
            else:
                written += 1
    assert sorted(path.name for path in (home / "outside").rglob("*")) == ["b", "x.txt"]
    assert (home / "outside/b/x.txt").read_bytes() == b"secret"
    assert written
    assert codes
    assert codes <= {"protected_path", "precondition_changed", "not_found"}
    assert files.sweep_temporary() == 0


def test_a_file_swapped_for_a_link_is_never_followed(home: Path) -> None:
    """E4: the last component swapped between a file and a link; the link's target keeps its content."""
    files = FilesRoot(home / "files")
    target, aside = home / "files/a/b/x.txt", home / "files/a/b/aside"

    def step() -> None:
        with suppress(FileNotFoundError, FileExistsError):
            target.rename(aside)
            target.symlink_to(home / "outside/b/x.txt")
            target.unlink()
            aside.rename(target)

    with meanwhile(step):
        for _ in range(ROUNDS):
            with suppress(Refused):
                files.write("a/b/x.txt", b"0", present(b"0"))
            with suppress(Refused):
                assert files.read("a/b/x.txt", 10).content == b"0"
    assert (home / "outside/b/x.txt").read_bytes() == b"secret"


def test_one_of_many_writers_wins(home: Path) -> None:
    """E4: of writers with the same precondition exactly one succeeds; the others are told that it changed."""
    files = FilesRoot(home / "files")

    def attempt(path: str, number: int, before: Absent | Present) -> str:
        try:
            files.write(path, f"{before}{number}".encode(), before)
        except Refused as refusal:
            return refusal.refusal.code
        return "written"

    with ThreadPoolExecutor(8) as pool:
        for round_number in range(20):
            path = f"n/{round_number}.txt"
            for before in (Absent(), None):
                expected = before or files.inspect(path).state
                answers = list(pool.map(attempt, [path] * 8, range(8), [expected] * 8))
                assert sorted(answers) == ["precondition_changed"] * 7 + ["written"]


def before_the_last_look(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Make the change after the new content is durable and before the precondition is checked."""

    @contextmanager
    def changed(folder: int, content: bytes, replaced: os.stat_result | None) -> Iterator[str]:
        with temporary_file(folder, content, replaced) as name:
            change()
            yield name

    monkeypatch.setattr(adapters.file_writing, "temporary_file", changed)


def write_same_size(target: Path) -> None:
    before = target.stat()
    target.write_bytes(b"1")
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_by_same(target: Path) -> None:
    target.unlink()
    target.write_bytes(b"0")


def swap_for_link(target: Path) -> None:
    target.rename(target.with_name("y"))
    target.symlink_to("y")


def replace_folder(target: Path) -> None:
    target.parent.rename(target.parent.with_name("c"))
    target.parent.mkdir()


CHANGES: dict[str, Callable[[Path], object]] = {
    "written": write_same_size,
    "replaced by the same content": replace_by_same,
    "removed": Path.unlink,
    "hard-linked": lambda target: os.link(target, target.with_name("second")),
    "swapped for a link": swap_for_link,
    "permissions changed": lambda target: target.chmod(0o600),
    "its folder moved": lambda target: target.parent.rename(target.parent.with_name("c")),
    "its folder replaced": replace_folder,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_during_the_write_is_noticed(
    home: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object]
) -> None:
    """E4, E10: a file changed between proposal and rename is `precondition_changed`, and keeps what it has."""
    target = home / "files/a/b/x.txt"
    before_the_last_look(monkeypatch, lambda: change(target))
    with pytest.raises(Refused) as caught:
        FilesRoot(home / "files").write("a/b/x.txt", b"new", present(b"0"))
    assert caught.value.refusal.code in {"precondition_changed", "protected_path"}
    contents = {path.read_bytes() for path in (home / "files").rglob("*") if path.is_file()}
    assert b"new" not in contents
    assert FilesRoot(home / "files").sweep_temporary() == 0


@pytest.mark.parametrize("call", [rename_noreplace, rename_by_link])
def test_a_new_file_never_replaces(
    home: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[[int, str, str], None]
) -> None:
    """E4: a file that appears at an absent path meanwhile stays, by system call and by link alike."""
    monkeypatch.setattr(adapters.file_writing, "rename_noreplace", call)
    before_the_last_look(monkeypatch, lambda: (home / "files/a/n.txt").write_bytes(b"theirs"))
    files = FilesRoot(home / "files")
    with pytest.raises(Refused) as caught:
        files.write("a/n.txt", b"ours", Absent())
    assert caught.value.refusal.code == "precondition_changed"
    assert (home / "files/a/n.txt").read_bytes() == b"theirs"
    monkeypatch.undo()
    files.write("a/m.txt", b"ours", Absent())
    assert sorted(path.name for path in (home / "files/a").iterdir()) == ["b", "m.txt", "n.txt"]


def test_a_folder_removed_under_the_write(home: Path) -> None:
    """E4: folders that come and go while they are made never fail otherwise than by a plain refusal."""
    files = FilesRoot(home / "files")

    def step() -> None:
        with suppress(OSError):
            (home / "files/p/q").rmdir()
        with suppress(OSError):
            (home / "files/p").rmdir()

    codes: set[str] = set()
    with meanwhile(step):
        for number in range(ROUNDS // 5):
            try:
                files.write(f"p/q/{number}", b"x", Absent())
            except Refused as refusal:
                codes.add(refusal.refusal.code)
            else:
                (home / f"files/p/q/{number}").unlink()
    assert codes <= {"precondition_changed"}
