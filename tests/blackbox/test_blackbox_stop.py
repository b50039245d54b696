"""The orderly end: SIGTERM under load, nothing left running, and the next start goes on (H16)."""

import signal

import psutil
import pytest

from tests.blackbox.conftest import StartSteward
from tests.blackbox.instance import PROCESSES, Instance
from tests.blackbox.rpc_client import Json
from tests.blackbox.scripts import delay, delegate, hang, say, steps, tool
from tests.blackbox.work import check_invariants, decide, look, until_at_rest, until_card, until_reply


async def _load(steward: Instance, name: str) -> list[Json]:
    """Replies that stream, tasks in their model's hands, a card that waits, inputs in the queue."""
    write = tool("write_file", path=f"{name}.txt", content=name)
    written = steps(write, tool("submit_result", summary=f"{name} written"))
    receipts = [await steward.send(delegate(f"{name} writes", written), f"{name}:write")]
    await until_reply(steward, receipts[0])
    await until_card(steward, task_id=(await steward.ask(look)).task(f"{name} writes")["task_id"])
    for number in range(3):
        slow = hang(3) + tool("submit_result", summary=f"{name} slow {number}")
        receipts.append(await steward.send(delegate(f"{name} slow {number}", slow), f"{name}:slow:{number}"))
    await until_reply(steward, receipts[-1])
    for number in range(4):
        text = delay(40) + say(f"{name} reply {number} " + "and so on " * 30)
        receipts.append(await steward.send(text, f"{name}:say:{number}"))
    return receipts


def _is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
async def test_the_end_of_up_under_load(start_steward: StartSteward, number: signal.Signals) -> None:
    """H16, O22, I1: exit 0 within 15 s, no pid file, no process; a killed `up` leaves nothing that a new one minds."""
    name = number.name.lower()
    async with start_steward(name) as steward:
        receipts = await _load(steward, name)
        assert steward.process is not None
        pids = [steward.pid(process) for process in PROCESSES]
        assert None not in pids
        await steward.hang_up()
        if number is signal.SIGKILL:
            steward.process.kill()
            await steward.process.wait()
        else:
            assert await steward.stop(number) == 0
            assert not list((steward.home / "run").glob("*.pid"))
        await steward.until(
            lambda: all(_is_gone(pid) for pid in pids if pid is not None) and not steward.relatives(),
            "no process of this home is left",
        )
        assert not (steward.files / f"{name}.txt").exists()
        await steward.start()
        card = await until_card(steward)
        await decide(steward, card)
        seen = await until_at_rest(steward, receipts)
        check_invariants(seen, receipts)
        assert (steward.files / f"{name}.txt").read_text() == name
        said = [message["text"] for message in seen.messages if message["text"].startswith(f"{name} reply")]
        assert said == [f"{name} reply {each} " + "and so on " * 30 for each in range(4)]
        results = {f"echo: {name} written", *(f"echo: {name} slow {each}" for each in range(3))}
        assert results <= {message["text"] for message in seen.messages}


async def test_a_second_up_on_the_same_home_is_refused(shared: Instance) -> None:
    """H4, O4: one line that says why, exit 1, and the first one serves on."""
    second = Instance(shared.home, (shared.port, shared.temporal_port, shared.ui_port), {})
    code, printed = await second.run_to_its_end()
    assert code == 1
    assert printed.strip().splitlines()[-1].startswith("host_locked: ")
    assert "Traceback" not in printed
    assert (await shared.ask(look)).messages is not None
