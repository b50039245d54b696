"""Sets up `.venv` from the pinned requirements, once for each content of the lock files; uses the stdlib only.

A stamp in `.venv` holds the digest of what was installed: a repeated set-up starts nothing and needs no network (O1).
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOCKS = {"run": ("run.txt",), "test": ("run.txt", "test.txt")}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CONFINEMENT_PROGRAM, CONFINEMENT_PACKAGE = "bwrap", "bubblewrap"
BROWSER_PACKAGES = ("chromium", "fonts-liberation", "fonts-wqy-zenhei")


def say(line: str) -> None:
    """Write one line for the person who runs make."""
    sys.stderr.write(f"{line}\n")


def run(*command: str | Path, env: dict[str, str] | None = None) -> int:
    """Run a command without standard input; its output goes to stderr, so that ours stays empty."""
    environment = {**os.environ, **(env or {})}
    words = [str(part) for part in command]
    return subprocess.run(
        words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=sys.stderr, env=environment, check=False
    ).returncode


def digest(purpose: str) -> str:
    """Return the digest of everything that decides what is installed for a purpose."""
    content = hashlib.sha256(f"{sys.version_info[:2]} {ROOT}\0".encode())
    for path in (ROOT / "pyproject.toml", *(ROOT / "requirements" / name for name in LOCKS[purpose])):
        content.update(path.read_bytes())
    return content.hexdigest()


def stamp(purpose: str) -> Path:
    """Return the file that tells what was last installed for a purpose."""
    return VENV / f"steward-{purpose}.stamp"


def is_installed(purpose: str) -> bool:
    """Tell whether exactly these requirements are installed; those of the tests include those of `run`."""
    wider = ("run", "test") if purpose == "run" else ("test",)
    return PYTHON.exists() and any(
        stamp(name).exists() and stamp(name).read_text(encoding="ascii") == digest(name) for name in wider
    )


def create_venv() -> int:
    """Create the virtual environment where there is none that works."""
    if PYTHON.exists() and run(PYTHON, "-c", "import pip") == 0:
        return 0
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        say("Python's venv module is missing; install it (on Debian and Ubuntu: apt-get install python3-venv).")
        return 1
    return run(sys.executable, "-m", "venv", "--clear", VENV)


def install(purpose: str) -> int:
    """Install the requirements of a purpose and the project itself, unless that has been done."""
    with (ROOT / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_installed(purpose):
            return 0
        say(f"Setting up .venv for `make {purpose}` (this is done once) ...")
        if create_venv() != 0:
            say("The virtual environment .venv could not be created.")
            return 1
        pip = (PYTHON, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check")
        if run(*pip, "--require-hashes", "-r", ROOT / "requirements" / LOCKS[purpose][-1]) != 0:
            say("The pinned packages could not be installed; see pip above (the first time needs a package index).")
            return 1
        if run(*pip, "--no-deps", "--no-build-isolation", "--editable", ROOT) != 0:
            say("Steward itself could not be installed into .venv: pip's message is above.")
            return 1
        stamp(purpose).write_text(digest(purpose), encoding="ascii")
    return 0


def install_browser() -> int:
    """Install Chromium for the browser tests where that is allowed; never fails, those tests say what is missing."""
    if os.environ.get("STEWARD_CHROMIUM") or any(shutil.which(name) for name in BROWSERS):
        return 0
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        say("Chromium is missing, so the browser tests cannot run: install it, or name it by STEWARD_CHROMIUM.")
        return 0
    say("Installing Chromium for the browser tests ...")
    if not install_packages(*BROWSER_PACKAGES):
        say("Chromium could not be installed by apt-get, so the browser tests cannot run.")
    return 0


def install_confinement() -> int:
    """Install bubblewrap, by which commands are confined, where that is allowed; never fails: it is not required."""
    if shutil.which(CONFINEMENT_PROGRAM):
        return 0
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        say("bubblewrap is missing, so commands are not confined here and only a stand-in is tested: install it.")
        return 0
    say("Installing bubblewrap, by which commands are confined ...")
    if not install_packages(CONFINEMENT_PACKAGE):
        say("bubblewrap could not be installed by apt-get, so commands are not confined here.")
    return 0


def install_packages(*packages: str) -> bool:
    """Install packages of the system; tell whether that worked."""
    apt = ("apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    if run(*apt, "update", env=quiet) != 0:
        return False
    return run(*apt, "install", "--no-install-recommends", "-y", *packages, env=quiet) == 0


def lock() -> int:
    """Pin the requirements again; no index address gets into the files."""
    uv = (VENV / "bin" / "uv", "pip", "compile", "--quiet", "--upgrade", "--universal", "--python-version", "3.11")
    form = ("--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links")
    for name, constraints in (("run", ()), ("test", ("-c", "requirements/run.txt"))):
        files = (f"requirements/{name}.in", "-o", f"requirements/{name}.txt")
        if run(*uv, *form, *constraints, *files) != 0:
            say(f"requirements/{name}.in could not be resolved: uv's message is above.")
            return 1
    return 0


def main(arguments: list[str]) -> int:
    """Carry out one of `run`, `test`, `browser`, `confinement`, `lock`."""
    match arguments:
        case ["run" | "test" as purpose]:
            return install(purpose)
        case ["browser"]:
            return install_browser()
        case ["confinement"]:
            return install_confinement()
        case ["lock"]:
            return lock()
        case _:
            say("usage: environment.py run|test|browser|confinement|lock")
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
