"""Settings: sources, order, checks, and what is shown of them."""

import os
import stat
from pathlib import Path

import pytest

from domain.refusal import Refused
from runtime.folders import prepare_folders
from runtime.isolation import check_isolation
from runtime.settings import Settings
from runtime.settings_sources import load_settings, process_environment, public_view

SECRET = "sk-planted-marker"


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("STEWARD_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))


def write_config(tmp_path: Path, text: str, name: str = "steward.toml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults(tmp_path: Path) -> None:
    """O21: the defaults of the settings table; O2: without a model the offline one."""
    settings = load_settings()
    assert settings.home == tmp_path / ".local/share/steward"
    assert (settings.host, settings.port, settings.temporal_port, settings.temporal_ui_port) == (
        "127.0.0.1", 18000, 7233, 8233,
    )  # fmt: skip
    assert (settings.user_space, settings.product_domain) == ("local", "personal")
    assert settings.model == settings.effective_task_model == "offline"
    assert settings.composition_profile is None
    assert settings.effective_temporal_address == "127.0.0.1:7233"
    assert settings.effective_database_url == f"sqlite+aiosqlite:///{settings.state_dir}/steward.sqlite"
    assert settings.temporal_retention_days == 90


def test_order_of_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """H5: override, then variable, then file, then default."""
    path = write_config(tmp_path, 'port = 1001\ntemporal_port = 1002\nuser_space = "file"\n')
    monkeypatch.setenv("STEWARD_PORT", "2001")
    monkeypatch.setenv("STEWARD_USER_SPACE", "variable")
    settings = load_settings({"user_space": "option", "product_domain": None}, config=path)
    assert (settings.temporal_port, settings.port, settings.user_space) == (1002, 2001, "option")
    assert settings.product_domain == "personal"


def test_user_file_and_explicit_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """H5: the user's own file is read where it exists; an explicit one takes its place."""
    own = tmp_path / "config" / "steward"
    own.mkdir(parents=True)
    write_config(own, "port = 3001\n", "config.toml")
    assert load_settings().port == 3001
    monkeypatch.setenv("STEWARD_CONFIG", str(write_config(tmp_path, "temporal_port = 3002\n")))
    settings = load_settings()
    assert (settings.port, settings.temporal_port) == (18000, 3002)


def test_nothing_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """H5: no `.env` and no project file is read."""
    (tmp_path / ".env").write_text("STEWARD_PORT=4001\n", encoding="utf-8")
    (tmp_path / "config.toml").write_text("port = 4002\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert load_settings().port == 18000


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("STEWARD_HOME", "relative/home"),
        ("STEWARD_HOME", "/a/../b"),
        ("STEWARD_USER_SPACE", "Upper"),
        ("STEWARD_USER_SPACE", "../x"),
        ("STEWARD_USER_SPACE", "a" * 65),
        ("STEWARD_PRODUCT_DOMAIN", "_first"),
        ("STEWARD_PRODUCT_DOMAIN", "a\nb"),
        ("STEWARD_PORT", "0"),
        ("STEWARD_PORT", "70000"),
        ("STEWARD_PORT", SECRET),
        ("STEWARD_TEMPORAL_ADDRESS", "nowhere"),
        ("STEWARD_TEMPORAL_ADDRESS", ":7233"),
        ("STEWARD_DATABASE_URL", f"mysql://u:{SECRET}@h/d"),
        ("STEWARD_DATABASE_URL", "sqlite:///relative.sqlite"),
        ("STEWARD_MODEL", "no-provider"),
        ("STEWARD_MODEL_BASE_URL", f"ftp://{SECRET}"),
        ("STEWARD_MODEL_TIMEOUT_S", "nan"),
        ("STEWARD_MODEL_TIMEOUT_S", "-1"),
        ("STEWARD_LOG_FORMAT", "xml"),
        ("STEWARD_COMPOSITION_PROFILE", "unknown"),
        ("STEWARD_ISOLATION_MODE", "container"),
        ("STEWARD_ALLOW_INSECURE_PUSH", "perhaps"),
        ("STEWARD_CONFIG", "relative.toml"),
        ("STEWARD_CONFIG", "/nonexistent/steward.toml"),
    ],
)
def test_mistake_is_one_line_with_the_setting(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """O3, O4, H4: one line `code: message` that names the setting and never the value."""
    monkeypatch.setenv(name, value)
    with pytest.raises(Refused) as caught:
        load_settings()
    line = str(caught.value)
    assert line.startswith("invalid_params: ")
    assert name in line
    assert "\n" not in line
    assert SECRET not in line
    assert value not in line or len(value) < 4


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("port = ", "TOML"),
        ("unknown_key = 1", "unknown_key"),
        ('config = "/other.toml"', "config"),
        ("port = 'x'", "STEWARD_PORT"),
        ("port = 7233", "STEWARD_TEMPORAL_PORT"),
        ("# " + "x" * 1024 * 1024, "1 MiB"),
    ],
)
def test_wrong_file(tmp_path: Path, text: str, word: str) -> None:
    """O21: what is wrong in the file is told in one line without its place on the disk."""
    with pytest.raises(Refused) as caught:
        load_settings(config=write_config(tmp_path, text))
    assert word in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_values_from_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """O21: lists are comma-separated, an empty variable is no value, a database address gets its driver."""
    monkeypatch.setenv("STEWARD_ALLOWED_HOSTS", "steward.example, other.example,")
    monkeypatch.setenv("STEWARD_MODEL", "")
    monkeypatch.setenv("STEWARD_DATABASE_URL", "postgresql://u:p@127.0.0.1/d")
    monkeypatch.setenv("STEWARD_TEMPORAL_ADDRESS", "temporal:7233")
    settings = load_settings()
    assert settings.allowed_hosts == ("steward.example", "other.example")
    assert settings.model == "offline"
    assert settings.effective_database_url == "postgresql+asyncpg://u:p@127.0.0.1/d"
    assert not settings.embedded_temporal


def test_child_process_gets_the_same_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """H1: what was given on the command line binds the children too; secrets are not copied."""
    monkeypatch.setenv("STEWARD_MODEL_API_KEY", SECRET)
    given = {"home": tmp_path / "home", "allowed_hosts": ("a.example", "b.example"), "allow_insecure_push": True}
    settings = load_settings(given, config=write_config(tmp_path, "port = 5001\n"))
    environment = process_environment(settings)
    assert SECRET not in str(environment)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert load_settings() == settings


def test_public_view_masks_secrets(tmp_path: Path) -> None:
    """P15: secrets say only whether they are configured; so does a database address, which may hold a password."""
    settings = Settings.model_validate(
        {"home": tmp_path, "model_api_key": SECRET, "database_url": f"postgresql://u:{SECRET}@h/d"}
    )
    view = public_view(settings)
    assert view["model_api_key"] == view["database_url"] == {"configured": True}
    assert view["port"] == 18000
    assert SECRET not in f"{view}{settings!r}"


def test_constructing_reads_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """H23: settings made in code depend on the code alone."""
    monkeypatch.setenv("STEWARD_PORT", "6001")
    assert Settings(home=tmp_path).port == 18000


class Verifier:
    def __init__(self, answer: object) -> None:
        self.answer = answer

    def verify(self, user_space: str, product_domain: str) -> bool:
        assert (user_space, product_domain) == ("local", "personal")
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[return-value]


def test_logical_memory_claims_nothing(tmp_path: Path) -> None:
    """H2: the default mode claims nothing about other processes."""
    assert check_isolation(Settings(home=tmp_path)) == {"memory": "logical", "host": "unverified"}


@pytest.mark.parametrize("verifier", [None, Verifier(False), Verifier("yes"), Verifier(RuntimeError("broken"))])
def test_verified_host_needs_its_verifier(tmp_path: Path, verifier: Verifier | None) -> None:
    """H3: a missing, refusing, vague or failing verifier is a refusal, and nothing was written."""
    settings = Settings(home=tmp_path / "home", isolation_mode="verified_host")
    with pytest.raises(Refused) as caught:
        check_isolation(settings, verifier)
    assert caught.value.refusal.code == "user_host_isolation_required"
    assert not settings.home.exists()


def test_verified_host(tmp_path: Path) -> None:
    """H3: with a verifier that says yes the host is verified."""
    settings = Settings(home=tmp_path, isolation_mode="verified_host")
    assert check_isolation(settings, Verifier(True))["host"] == "verified"


def test_folders_are_private(tmp_path: Path) -> None:
    """H4: every folder is 0700, also one that was left open; an existing home keeps its mode."""
    home = tmp_path / "shared"
    home.mkdir()
    home.chmod(0o755)
    settings = Settings(home=home)
    settings.state_dir.mkdir(parents=True)
    settings.state_dir.chmod(0o755)
    prepare_folders(settings)
    prepare_folders(settings)
    for folder in (settings.run_dir, settings.space_dir, settings.state_dir, settings.files_dir):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(home.stat().st_mode) == 0o755
    assert settings.state_dir == home / "user-spaces/local/personal/state"


def test_folder_that_cannot_be(tmp_path: Path) -> None:
    """O4: a file in the way is one line with the setting's name and no absolute path."""
    (tmp_path / "home").write_text("", encoding="utf-8")
    with pytest.raises(Refused) as caught:
        prepare_folders(Settings(home=tmp_path / "home"))
    assert "STEWARD_HOME" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
