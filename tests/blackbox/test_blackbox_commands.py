"""A command of a whole Steward as a user starts it: allowed, running while its worker is killed or all is stopped.

The command tells by a file that it runs, and leaves a daemon behind that ignores being asked to end.
"""

from tests.blackbox.conftest import StartSteward
from tests.blackbox.instance import Instance
from tests.blackbox.scripts import delegate, steps, tool
from tests.blackbox.work import decide, look, until_at_rest, until_card
from tests.command_world import running

SCRIPT = "(setsid sh -c 'trap \"\" TERM; sleep 300' >/dev/null 2>&1 &); echo first; touch began; sleep 300"


async def begin(steward: Instance) -> tuple[str, dict[str, object]]:
    """A task's command that was allowed and runs; its effect, and the receipt of the input."""
    command = tool("run_command", argv=["sh", "-c", SCRIPT])
    receipt = await steward.send(
        delegate("command", steps(command, tool("submit_result", summary="the end"))), "command:1"
    )
    card = await until_card(steward, kind="command")
    assert card["details"]["command"].splitlines()[0].startswith("sh -c ")
    await decide(steward, card)
    await steward.until((steward.files / "began").exists, "the command runs")
    effect = str(card["effect_id"])
    assert running(effect) != []
    return effect, receipt


async def test_a_killed_worker_leaves_no_process_and_the_task_goes_on(start_steward: StartSteward) -> None:
    """E13, E15: kill -9 ends the command with all it has started; the outcome is what was written down, once."""
    async with start_steward("command-killed") as steward:
        effect, receipt = await begin(steward)
        steward.kill("worker")
        await steward.until(lambda: running(effect) == [], "nothing of the command runs")
        seen = await until_at_rest(steward, [receipt])
    [found] = [one for one in seen.effects if one["effect_id"] == effect]
    assert (found["state"], found["reason"]) == ("failed", "runtime_restarted")
    assert [entry["step"] for entry in found["trail"]].count("start") == 1
    assert [task["state"] for task in seen.tasks] == ["completed"]


async def test_an_orderly_stop_ends_commands_in_time(start_steward: StartSteward) -> None:
    """H16: Steward ends within its time although a command would run for minutes; nothing is left, nothing is lost."""
    async with start_steward("command-stopped") as steward:
        effect, _ = await begin(steward)
        assert await steward.stop() == 0
        assert running(effect) == []
        await steward.start()

        async def told() -> bool:
            seen = await steward.ask(look)
            return [one["state"] for one in seen.effects] == ["failed"]

        await steward.until(told, "the interrupted command is told as it was")
