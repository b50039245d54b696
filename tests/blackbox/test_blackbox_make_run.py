"""`make run` itself, as the first of the two commands of the README (O1, O22)."""

import signal
from pathlib import Path

from tests.blackbox.conftest import StartSteward
from tests.blackbox.work import until_reply


async def test_make_run_starts_everything_and_ends_with_it(start_steward: StartSteward, repository: Path) -> None:
    """O1, O2, O22, H16: no model is set; a link is printed; a reply comes; Ctrl-C ends all in time."""
    command = ("make", "--no-print-directory", "-C", str(repository), "run")
    async with start_steward("make-run", command, STEWARD_MODEL="", STEWARD_MODEL_BASE_URL="") as steward:
        assert f"http://127.0.0.1:{steward.port}/login?token=" in steward.printed()
        receipt = await steward.send("hello", "make:1")
        assert "offline mode" in (await until_reply(steward, receipt))["text"].lower()
        await steward.hang_up()
        assert steward.process is not None
        # Ctrl-C reaches the whole process group of the terminal; the code is make's own, which waits and dies of it.
        assert await steward.stop(signal.SIGINT, whole_group=True) in (0, 2, -signal.SIGINT)
        assert not list((steward.home / "run").glob("*.pid"))
        await steward.until(lambda: not steward.relatives(), "no process of this home is left")
