"""`make run` and `make test` set up what they need, once, and say in one line what is missing (O1)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from requirements import environment


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source tree with a virtual environment in which nothing has been installed yet."""
    (tmp_path / "requirements").mkdir()
    for name in ("requirements/run.txt", "requirements/test.txt", "pyproject.toml"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    monkeypatch.setattr(environment, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(environment, "PYTHON", python)
    return tmp_path


class Commands:
    """Records what would be run, and answers with an exit code."""

    def __init__(self, failing: str = "") -> None:
        self.run: list[str] = []
        self.failing = failing

    def __call__(self, *command: object, **_: object) -> int:
        line = " ".join(str(part) for part in command)
        self.run.append(line)
        return 1 if self.failing and self.failing in line else 0


def installs(monkeypatch: pytest.MonkeyPatch, failing: str = "") -> Commands:
    commands = Commands(failing)
    monkeypatch.setattr(environment, "run", commands)
    return commands


def test_second_set_up_runs_nothing(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O1: safe to repeat, and offline once installed: the second set-up starts no process."""
    commands = installs(monkeypatch)
    assert environment.main(["run"]) == 0
    assert any("--require-hashes" in line for line in commands.run)
    again = installs(monkeypatch)
    assert environment.main(["run"]) == 0
    assert again.run == []


def test_run_needs_nothing_after_test(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O1: the tests' requirements include those of `run`, not the other way round."""
    installs(monkeypatch)
    assert environment.main(["test"]) == 0
    assert environment.is_installed("run")
    (environment.stamp("test")).unlink()
    environment.main(["run"])
    assert not environment.is_installed("test")


@pytest.mark.parametrize("changed", ["requirements/run.txt", "pyproject.toml"])
def test_a_change_installs_again(tree: Path, monkeypatch: pytest.MonkeyPatch, changed: str) -> None:
    """O1: a changed lock file or project is installed again."""
    installs(monkeypatch)
    environment.main(["test"])
    (tree / changed).write_text("changed", encoding="utf-8")
    commands = installs(monkeypatch)
    assert environment.main(["test"]) == 0
    assert commands.run


@pytest.mark.parametrize("step", ["--require-hashes", "--editable"])
def test_a_failed_install_is_not_taken_for_done(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], step: str
) -> None:
    """O1: an interrupted set-up is repeated, and its failure is told in one line."""
    installs(monkeypatch, failing=step)
    assert environment.main(["run"]) == 1
    assert "could not be installed" in capsys.readouterr().err.splitlines()[-1]
    assert not environment.is_installed("run")


def test_missing_venv_module(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """O1: a Python without its venv module is told in one line, with what to install."""
    environment.PYTHON.unlink()
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    assert environment.main(["run"]) == 1
    assert "python3-venv" in capsys.readouterr().err


@pytest.mark.parametrize("root", [True, False])
def test_browser_is_optional(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], root: bool
) -> None:
    """O8: Chromium is installed where that is allowed; where not, one line says what is missing; nothing fails."""
    monkeypatch.delenv("STEWARD_CHROMIUM", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None)
    commands = installs(monkeypatch, failing="install")
    assert environment.main(["browser"]) == 0
    assert bool(commands.run) is root
    assert "Chromium" in capsys.readouterr().err


def test_missing_python(repository: Path) -> None:
    """O1: no Python 3.11 is one line and no traceback."""
    command = ["make", "-s", "-C", str(repository), "run", "PYTHON="]
    environment_of_make = {"PATH": os.environ["PATH"]}
    done = subprocess.run(command, env=environment_of_make, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stderr.splitlines()[0].startswith("Python 3.11 or newer is needed")


def test_ci_only_calls_make_test(repository: Path) -> None:
    """O1: what CI needs is prepared by `make test` itself."""
    lines = (repository / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    commands = [line for line in lines if line and not line.startswith("#")]
    assert commands[-1].startswith("exec make test")
    assert len(commands) == 3
    assert os.access(repository / ".ci" / "run", os.X_OK)


@pytest.mark.parametrize(
    ("present", "root", "failing", "runs", "says"),
    [
        (True, True, "", 0, ""),
        (False, True, "", 2, "Installing bubblewrap"),
        (False, True, "install", 2, "could not be installed"),
        (False, False, "", 0, "bubblewrap is missing"),
    ],
)
def test_bubblewrap_is_installed_where_that_is_allowed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], present: bool, root: bool, failing: str,
    runs: int, says: str,
) -> None:  # fmt: skip
    """E16, O1: without it the tests of confinement look at a stand-in; it never fails the set-up."""
    commands = installs(monkeypatch, failing)
    found = {"apt-get"} | ({"bwrap"} if present else set())
    monkeypatch.setattr("requirements.environment.shutil.which", lambda name: name if name in found else None)
    monkeypatch.setattr("requirements.environment.os.geteuid", lambda: 0 if root else 1000)
    assert environment.main(["confinement"]) == 0
    assert len(commands.run) == runs
    assert all("bubblewrap" in line for line in commands.run if " install " in line)
    assert says in capsys.readouterr().err
