"""The documents say what is there: settings, packages, links, and the tests that they name."""

import re
from pathlib import Path

import pytest

from runtime.settings import Settings

DOCUMENTS = ("README.md", "CONTRIBUTING.md", "docs/operations.md", "docs/security.md", "docs/dependencies.md")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)\)")
NAMED_TEST = re.compile(r"`(tests/[\w./-]+)`")
PACKAGE = re.compile(r"^([a-z0-9.-]+)", re.MULTILINE)


def test_every_setting_is_in_the_readme(repository: Path) -> None:
    """O21: the configuration table names each setting and nothing else."""
    named = set(re.findall(r"`STEWARD_([A-Z_]+)`", (repository / "README.md").read_text(encoding="utf-8")))
    assert named == {name.upper() for name in Settings.model_fields}


def test_every_direct_dependency_has_its_licence_listed(repository: Path) -> None:
    """O20: licences of what is installed on purpose."""
    wanted: set[str] = set()
    for name in ("run.in", "test.in"):
        wanted |= set(PACKAGE.findall((repository / "requirements" / name).read_text(encoding="utf-8")))
    wanted.discard("-r")
    text = (repository / "docs" / "dependencies.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| ([a-z0-9.-]+) \|", text, re.MULTILINE)) - {"package"}
    assert listed == wanted


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_and_tests_exist(repository: Path, document: str) -> None:
    """O18: a document points at nothing that is not there."""
    path = repository / document
    text = path.read_text(encoding="utf-8")
    missing = [link for link in LINK.findall(text) if not (path.parent / link).exists()]
    missing += [test for test in NAMED_TEST.findall(text) if not (repository / test).exists()]
    assert not missing


def test_decisions_have_one_form(repository: Path) -> None:
    """O20: each decision is one page with the same four parts."""
    for path in sorted((repository / "docs" / "decisions").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        assert text.startswith(f"# {path.name[:4]} ")
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences", "Alternatives"]
        assert len(text.splitlines()) < 80
