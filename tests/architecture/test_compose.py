"""The compose file and the image keep O14's promises; images are not pulled here, so this reads the files."""

import re
import subprocess
from typing import Any

import pytest
import yaml

from tests.architecture.source_tree import ROOT

LONG_RUNNING = ("postgres", "temporal", "temporal-ui", "host", "worker")
ONE_SHOT = ("temporal-schema", "temporal-namespace")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def test_services(compose: dict[str, Any]) -> None:
    """O14: PostgreSQL, Temporal with its UI, one host, two workers."""
    assert set(compose["services"]) == {*LONG_RUNNING, *ONE_SHOT}
    assert compose["services"]["worker"]["deploy"]["replicas"] == 2


def test_images_are_pinned(compose: dict[str, Any]) -> None:
    """O14: every image has a full version, in the compose file and in the Dockerfile."""
    images = [service["image"] for service in compose["services"].values()]
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    images += re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)
    assert len(images) >= 9
    for image in images:
        assert re.search(r":\d+\.\d+(\.\d+)?(-[a-z]+)*$", image), image


@pytest.mark.parametrize("name", LONG_RUNNING)
def test_health_checks(compose: dict[str, Any], name: str) -> None:
    """O14: every long-running service has a health check and is started again."""
    service = compose["services"][name]
    assert service["healthcheck"]["test"]
    assert service["restart"] == "unless-stopped"


def test_nothing_starts_too_early(compose: dict[str, Any]) -> None:
    """O14: what is needed is healthy, and one-shot steps have succeeded, before a service starts."""
    for service in compose["services"].values():
        for needed, how in service.get("depends_on", {}).items():
            expected = "service_completed_successfully" if needed in ONE_SHOT else "service_healthy"
            assert how["condition"] == expected


def test_no_default_secret(compose: dict[str, Any]) -> None:
    """O14: a password is required from outside and has no default; keys are empty without one."""
    for service in compose["services"].values():
        for key, value in service["environment"].items():
            if re.search(r"PASSWORD|PWD|SECRET|DATABASE_URL", key):
                assert "${POSTGRES_PASSWORD:?" in value
            if key.endswith(("_KEY", "_TOKEN")):
                assert re.fullmatch(r"\$\{\w+:-\}", value)


def test_ports_are_on_loopback(compose: dict[str, Any]) -> None:
    """O14, H21: what is published is published to this machine only; Temporal and PostgreSQL are not."""
    published = {name: service.get("ports", []) for name, service in compose["services"].items()}
    assert {name for name, ports in published.items() if ports} == {"host", "temporal-ui"}
    for port in (port for ports in published.values() for port in ports):
        assert port.startswith("127.0.0.1:")


def test_data_is_in_volumes(compose: dict[str, Any]) -> None:
    """O14: the database and Steward's files are in named volumes, the latter shared by host and workers."""
    assert set(compose["volumes"]) == {"postgres", "steward"}
    shared = "steward:/var/lib/steward"
    assert shared in compose["services"]["host"]["volumes"]
    assert shared in compose["services"]["worker"]["volumes"]


@pytest.mark.parametrize("name", ["host", "worker"])
def test_few_rights(compose: dict[str, Any], name: str) -> None:
    """O18: Steward runs without capabilities on a read-only system."""
    service = compose["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_mounted_files_exist(compose: dict[str, Any]) -> None:
    """O14: what the services read from this folder is here, and the scripts are valid shell."""
    for service in compose["services"].values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert not source.startswith(".") or (ROOT / source).is_dir()
    for script in sorted((ROOT / "deploy").rglob("*.sh")):
        subprocess.run(["sh", "-n", str(script)], check=True)


def test_image_installs_with_hashes_and_runs_without_rights() -> None:
    """O20: the image holds the pinned packages only, and its user is not root."""
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    installs = re.findall(r"pip install (.*)", dockerfile)
    assert installs == ["--require-hashes -r requirements/run.txt", "--no-deps --no-build-isolation ."]
    assert re.search(r"^USER 10001:10001$", dockerfile, re.MULTILINE)


def test_image_holds_every_package() -> None:
    """O14: no package is forgotten in the image, its ignore file or the wheel."""
    # Benchmarks are run from a checkout, never from an image.
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"benchmarks"}
    for name in ("Dockerfile", ".dockerignore", "pyproject.toml"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert not [package for package in packages if not re.search(rf"\b{package}\b", text)]
