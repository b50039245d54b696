"""What no committed file may hold: addresses of package registries, and paths of the machine it was written on."""

import re

import pytest

from tests.architecture.source_tree import ROOT, place, tracked_files

# Spelt in pieces, so that this file does not hold what it looks for.
FORBIDDEN = re.compile(
    "|".join(
        (
            r"pypi\.(org|python)", r"python" + r"hosted\.org", r"registry\.npm" + r"js", r"deb\.deb" + r"ian\.org",
            r"static\.crates" + r"\.io", r"proxy\.gol" + r"ang\.org",
            r"--(extra-)?index" + r"-url\s*=?\s*https?:", r"--find" + r"-links\s*=?\s*\S*/",
            r"(?<![\w.~/-])/(wo" + r"rk|ro" + r"ot|ho" + r"me/\w+|tmp/br" + r"ief)(/|$|(?=[\"'\s]))",
        )
    ),
    re.IGNORECASE,
)  # fmt: skip
LARGEST_BYTES = 2 * 1024 * 1024


def test_no_registry_and_no_machine_path() -> None:
    """O1, O20: the repository works anywhere, with the package index that the machine is set up for."""
    found = []
    for path in tracked_files():
        if path.stat().st_size > LARGEST_BYTES:
            continue
        text = path.read_bytes().decode("utf-8", errors="replace")
        found += [f"{place(path)}: {match.group(0)}" for match in FORBIDDEN.finditer(text)]
    assert not found


@pytest.mark.parametrize(
    "text", ["https://py" + "pi.org/simple", "files.python" + "hosted.org", "see '/wo" + "rk/x'", "cd /ro" + "ot"]
)
def test_the_pattern_catches(text: str) -> None:
    """O20: the pattern sees what it is there for."""
    assert FORBIDDEN.search(text)


@pytest.mark.parametrize("text", ["a/work/b", "GET /rpc", "~/work/x", "node.workflow", "/workflows", "/rootless"])
def test_the_pattern_leaves_alone(text: str) -> None:
    """O20: ordinary words are no path."""
    assert not FORBIDDEN.search(text)


def test_requirements_are_pinned_with_hashes() -> None:
    """O1, O20: every requirement has a version and a hash, and no file names where it comes from."""
    for name in ("run.txt", "test.txt"):
        lines = (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines()
        blocks = [index for index, line in enumerate(lines) if line and not line.startswith((" ", "#"))]
        assert len(blocks) > 20
        for index in blocks:
            assert re.match(r"[a-z0-9.\-]+==\S+( ; .+)? \\$", lines[index]), lines[index]
            assert lines[index + 1].strip().startswith("--hash=sha256:")


def test_both_sets_agree() -> None:
    """O1: what the tests run with is what `make run` installs."""

    def versions(name: str) -> dict[str, str]:
        text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
        return dict(re.findall(r"^([a-z0-9.\-]+)==(\S+)", text, re.MULTILINE))

    run, test = versions("run.txt"), versions("test.txt")
    assert run.items() <= test.items()
