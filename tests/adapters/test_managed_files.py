"""The managed store: streamed uploads, base64 slices, working copies, artifacts, sweeps (C8-C10, T5, P2)."""

import asyncio
import base64
import hashlib
import io
import os
import stat
import threading
import time
import zipfile
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.content_store import MAX_SLICE_BASE64, ContentStore
from adapters.files_root import FilesRoot
from adapters.incoming_content import IncomingContent
from adapters.managed_files import ManagedFiles
from adapters.media_sniffing import SNIFFED_BYTES, sniff
from domain.file_state import Absent
from domain.refusal import Refused

MIB = 1024 * 1024


@pytest.fixture
def files(tmp_path: Path) -> FilesRoot:
    root = FilesRoot(tmp_path / "files", (tmp_path / "state",))
    root.prepare()
    return root


@pytest.fixture
def managed(tmp_path: Path, files: FilesRoot) -> ManagedFiles:
    made = ManagedFiles(tmp_path / "state", files)
    made.prepare()
    return made


async def stream(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def put(store: ContentStore, content_id: str, content: bytes) -> None:
    store.commit(store.keep([content], "x"), content_id)


def code(call: Callable[[], object]) -> str:
    with pytest.raises(Refused) as caught:
        call()
    return caught.value.refusal.code


async def test_receive_and_commit(tmp_path: Path, managed: ManagedFiles) -> None:
    """C9: size, digest and type are measured; the file is private and appears under its id only when committed."""
    pieces = [os.urandom(300_000) for _ in range(9)]
    content = b"".join(pieces)
    received = await managed.attachments.receive(stream(b"", *pieces), len(content), "x.bin")
    assert (received.size, received.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert received.media_type == "application/octet-stream"
    folder = tmp_path / "state/attachments"
    assert [path.name for path in folder.iterdir()] == [received.temporary]
    managed.attachments.commit(received, "att_1")
    assert [path.name for path in folder.iterdir()] == ["att_1"]
    assert (folder / "att_1").read_bytes() == content
    assert stat.S_IMODE((folder / "att_1").stat().st_mode) == 0o600
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("files", "state/attachments")} == {0o700}


async def test_limit_while_streaming(tmp_path: Path, managed: ManagedFiles) -> None:
    """C9: an endless upload is cut off as soon as it passes the limit; nothing stays on disk."""
    taken = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal taken
        while True:
            taken += MIB
            yield bytes(MIB)

    with pytest.raises(Refused) as caught:
        await managed.attachments.receive(endless(), 20 * MIB, "x")
    assert (caught.value.refusal.code, dict(caught.value.refusal.details)) == ("limit_exceeded", {"limit": 20 * MIB})
    assert taken == 21 * MIB
    assert list((tmp_path / "state/attachments").iterdir()) == []


@pytest.mark.parametrize("size", [0, 1, 10])
async def test_exactly_the_limit_is_accepted(managed: ManagedFiles, size: int) -> None:
    """C8: the limit itself is allowed, one byte more is not; an empty file is a file."""
    received = await managed.attachments.receive(stream(bytes(size)), size, "x")
    assert received.size == size
    with pytest.raises(Refused):
        await managed.attachments.receive(stream(bytes(size), b"x"), size, "x")
    managed.attachments.discard(received)


async def test_a_broken_upload_leaves_nothing(tmp_path: Path, managed: ManagedFiles) -> None:
    """C9: a client that fails in the middle fails as itself, and its piece is gone."""

    async def breaks() -> AsyncIterator[bytes]:
        yield bytes(2 * MIB)
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await managed.attachments.receive(breaks(), 20 * MIB, "x")
    assert list((tmp_path / "state/attachments").iterdir()) == []


async def test_a_cancelled_upload_waits_for_its_thread(
    tmp_path: Path, managed: ManagedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C9: a cancellation in the middle of a disk write ends after it, and the piece is gone."""
    started, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    real = IncomingContent.append

    def slow(self: IncomingContent, piece: bytes) -> None:
        started.set()
        assert go_on.wait(30)
        real(self, piece)
        ended.set()

    monkeypatch.setattr(IncomingContent, "append", slow)
    upload = asyncio.ensure_future(managed.attachments.receive(stream(bytes(MIB)), 20 * MIB, "x"))
    assert await asyncio.to_thread(started.wait, 30)
    upload.cancel()
    await asyncio.sleep(0)
    upload.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await upload
    assert ended.is_set()
    assert list((tmp_path / "state/attachments").iterdir()) == []


async def test_many_uploads_at_once(managed: ManagedFiles) -> None:
    """C9: uploads do not mix."""

    async def one(number: int) -> None:
        content = bytes([number]) * (MIB + number)
        received = await managed.attachments.receive(
            stream(*[content[at : at + 7777] for at in range(0, len(content), 7777)]), 2 * MIB, "x"
        )
        managed.attachments.commit(received, f"att_{number}")
        assert received.sha256 == hashlib.sha256(content).hexdigest()

    await asyncio.gather(*(one(number) for number in range(12)))
    for number in range(12):
        assert managed.attachments.read_base64(f"att_{number}", 0, 4).size == MIB + number


def test_a_second_commit_keeps_the_first(tmp_path: Path, managed: ManagedFiles) -> None:
    """T5, C9: committed content never changes; a repeated commit leaves nothing behind."""
    put(managed.attachments, "att_1", b"first")
    put(managed.attachments, "att_1", b"second")
    assert [path.read_bytes() for path in (tmp_path / "state/attachments").iterdir()] == [b"first"]


@pytest.mark.parametrize(
    "content_id", ["", ".", "..", "../artifacts/x", "a/b", "a\0", "att_none", "x" * 65, ".incoming-0"]
)
def test_ids_are_no_paths(managed: ManagedFiles, content_id: str) -> None:
    """P2: an id that names nothing in the folder is `not_found`, whatever it looks like."""
    put(managed.artifacts, "x", b"secret")
    assert code(lambda: managed.attachments.read_base64(content_id, 0, 4)) == "not_found"
    assert code(lambda: managed.put_working_copy(content_id, "a.txt")) == "not_found"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=60), lengths=st.lists(st.integers(1, 13), min_size=1, max_size=5))
def test_any_slicing_concatenates(managed: ManagedFiles, content: bytes, lengths: list[int]) -> None:
    """C10: slices of any lengths, laid end to end, are exactly the base64 of the whole file."""
    managed.attachments.delete("att_1")
    put(managed.attachments, "att_1", content)
    whole = base64.b64encode(content).decode()
    got = ""
    turn = 0
    while len(got) < len(whole) or not turn:
        found = managed.attachments.read_base64("att_1", len(got), lengths[turn % len(lengths)])
        assert (found.total_base64_length, found.size, found.offset) == (len(whole), len(content), len(got))
        assert found.data or not whole
        got += found.data
        turn += 1
    assert got == whole
    assert managed.attachments.read_base64("att_1", len(whole), 1).data == ""


def test_the_largest_slice_of_a_large_file(managed: ManagedFiles) -> None:
    """C8, C10: 512 KiB of base64 anywhere in a 20 MiB file, starting within a group of four."""
    content = os.urandom(20 * MIB)
    put(managed.attachments, "att_1", content)
    whole = base64.b64encode(content).decode()
    for offset in (0, 1, 13_000_002, len(whole) - 3):
        expected = whole[offset : offset + MAX_SLICE_BASE64]
        assert managed.attachments.read_base64("att_1", offset, MAX_SLICE_BASE64).data == expected


@pytest.mark.parametrize(("offset", "length"), [(-1, 4), (9, 4), (0, 0), (0, -1), (0, MAX_SLICE_BASE64 + 1)])
def test_slice_bounds(managed: ManagedFiles, offset: int, length: int) -> None:
    """C10: an offset or length out of range is `invalid_params` with the limit and the value."""
    put(managed.attachments, "att_1", b"12345")
    with pytest.raises(Refused) as caught:
        managed.attachments.read_base64("att_1", offset, length)
    assert caught.value.refusal.code == "invalid_params"
    assert set(caught.value.refusal.details) == {"limit", "value"}


def test_working_copy(tmp_path: Path, managed: ManagedFiles) -> None:
    """C9: the copy has a safe name below the attachment's id, is made once, and a changed copy stays changed."""
    put(managed.attachments, "att_1", b"text")
    path = managed.put_working_copy("att_1", "../..\\ev\u202eil.txt")
    assert path == "attachments/att_1/evil.txt"
    copy = tmp_path / "files" / path
    assert copy.read_bytes() == b"text"
    copy.write_bytes(b"edited")
    assert managed.put_working_copy("att_1", "evil.txt") == path
    assert copy.read_bytes() == b"edited"
    assert (tmp_path / "state/attachments/att_1").read_bytes() == b"text"


def test_working_copy_never_follows_links(tmp_path: Path, managed: ManagedFiles) -> None:
    """C9, E3: a link in the place of the copies' folder is refused, not followed."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "files/attachments").symlink_to(tmp_path / "outside")
    put(managed.attachments, "att_1", b"text")
    assert code(lambda: managed.put_working_copy("att_1", "a.txt")) == "protected_path"
    assert list((tmp_path / "outside").iterdir()) == []


def test_artifact(tmp_path: Path, files: FilesRoot, managed: ManagedFiles) -> None:
    """T5: an artifact is a copy with digest and type; repeating the call answers with the first copy."""
    content = b"# Summary\n" + b"x" * (2 * MIB)
    files.write("out/summary.md", content, Absent())
    stored = managed.store_artifact("out/summary.md", "art_1", 3 * MIB)
    assert (stored.name, stored.size, stored.media_type) == ("summary.md", len(content), "text/markdown")
    assert stored.sha256 == hashlib.sha256(content).hexdigest()
    (tmp_path / "files/out/summary.md").write_bytes(b"changed")
    assert managed.store_artifact("out/summary.md", "art_1", 3 * MIB) == stored
    (tmp_path / "files/out/summary.md").unlink()
    assert managed.store_artifact("out/summary.md", "art_1", 3 * MIB) == stored
    assert managed.artifacts.read_base64("art_1", 0, 4).size == len(content)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("none", "not_found"),
        ("link", "protected_path"),
        ("../state/owner.token", "protected_path"),
        ("big", "invalid_params"),
        ("a\0", "invalid_params"),
    ],
)
def test_refused_artifacts_leave_nothing(
    tmp_path: Path, files: FilesRoot, managed: ManagedFiles, path: str, expected: str
) -> None:
    """T5, E3: what is no ordinary file of the files root, or too large, is refused, and nothing is stored."""
    (tmp_path / "state/owner.token").write_bytes(b"secret")
    (tmp_path / "files/link").symlink_to(tmp_path / "state/owner.token")
    files.write("big", bytes(11), Absent())
    assert code(lambda: managed.store_artifact(path, "art_1", 10)) == expected
    assert list((tmp_path / "state/artifacts").iterdir()) == []


def test_an_artifact_written_meanwhile(
    tmp_path: Path, files: FilesRoot, managed: ManagedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T5: a file that changes while it is copied is `precondition_changed`; half a copy is never stored."""
    files.write("log", bytes(2 * MIB), Absent())
    real = IncomingContent.append

    def appended(self: IncomingContent, piece: bytes) -> None:
        real(self, piece)
        with (tmp_path / "files/log").open("ab") as log:
            log.write(b"more")

    monkeypatch.setattr(IncomingContent, "append", appended)
    assert code(lambda: managed.store_artifact("log", "art_1", 4 * MIB)) == "precondition_changed"
    assert list((tmp_path / "state/artifacts").iterdir()) == []


def test_sweep(tmp_path: Path, managed: ManagedFiles) -> None:
    """C9: what nothing refers to and interrupted uploads go after a day; young, referenced and foreign files stay."""
    folder = tmp_path / "state/attachments"
    names = ["att_old", "att_young", "att_used", ".incoming-old", ".incoming-young", "foreign.txt"]
    for name in names:
        (folder / name).write_bytes(b"x")
    old = time.time() - 25 * 3600
    for name in ("att_old", "att_used", ".incoming-old", "foreign.txt"):
        os.utime(folder / name, (old, old))
    assert managed.attachments.sweep({"att_used"}, timedelta(hours=24)) == ("att_old",)
    assert {path.name for path in folder.iterdir()} == set(names) - {"att_old", ".incoming-old"}
    managed.attachments.delete("att_used")
    managed.attachments.delete("att_used")
    assert code(lambda: managed.attachments.read_base64("att_used", 0, 1)) == "not_found"


def zipped(name: str) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr(name, "x")
    return held.getvalue()


@pytest.mark.parametrize(
    ("head", "name", "expected"),
    [
        (b"", "a.md", "text/markdown"),
        (b"hello\n", "a.txt", "text/plain"),
        (b"hello\n", "a", "text/plain"),
        (b"# hi\n", "README.MD", "text/markdown"),
        (b"a,b\n", "a.csv", "text/csv"),
        (b"{}", "a.json", "application/json"),
        (b"<script>alert(1)</script>", "a.html", "text/plain"),
        (b"<svg onload='x'/>", "a.svg", "text/plain"),
        (b"BMW is a car", "a.txt", "text/plain"),
        (b"MZ is a prefix", "a.md", "text/markdown"),
        (b"GIF89a, explained", "notes.txt", "text/plain"),
        (b"%PDF-1.4\nplain", "a.txt", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n" + bytes(30), "a.txt", "image/png"),
        (b"\xff\xd8\xff\xe0" + bytes(30), "a.json", "image/jpeg"),
        (zipped("x.txt"), "a.csv", "application/zip"),
        (b"\x7fELF\x02\x01\x01" + bytes(60), "a.md", "application/x-executable"),
        (bytes(100), "a.md", "application/octet-stream"),
        (b"\xff\xfeh\0i\0", "a.txt", "application/octet-stream"),
        (b"caf\xe9 latin", "a.txt", "application/octet-stream"),
        ("报告".encode() * 3000, "报告.md", "text/markdown"),
        ("a报".encode() * 3000, "a.csv", "text/csv"),
    ],
)
def test_sniffing(head: bytes, name: str, expected: str) -> None:
    """C9: the type comes from the content; a name only tells kinds of text apart; nothing gets a type browsers run."""
    assert sniff(head[:SNIFFED_BYTES], name) == expected
