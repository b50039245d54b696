"""Effects at rest: what the rows say, what the files say, and that nobody is told more than is known (E13, I4)."""

from tests.blackbox.rpc_client import Json
from tests.blackbox.work import EFFECT_ENDS
from tests.chaos.job import FileChange, Job
from tests.chaos.ledger import Breach, Ledger
from tests.chaos.world import World


def check_effects(world: World, job: Job, title: str, effects: list[Json]) -> None:
    """I3, I4: each effect started at most once and has its end; each file is as its effects say."""
    ledger = world.ledger
    for effect in effects:
        state = effect["state"]
        ledger.counts[f"effect {state}"] += 1
        started = [entry for entry in effect["trail"] if entry["step"] == "start"]
        outcomes = [entry["verdict"] for entry in effect["trail"] if entry["step"] == "outcome"]
        ledger.expect(len(started) <= 1, "doubled", f"{title}: an effect was started {len(started)} times")
        ledger.expect(state in EFFECT_ENDS, "broken", f"{title}: an effect is {state} at rest")
        ledger.expect(
            bool(outcomes) or not started, "hidden", f"{title}: an effect was started, has no outcome, and is {state}"
        )
        ledger.expect(not outcomes or outcomes[-1] == state, "broken", f"{title}: {outcomes} made an effect {state}")
    for change in job.changes:
        _check_file(world, job, change, [effect for effect in effects if change.path in effect["words"]])


def _check_file(world: World, job: Job, change: FileChange, effects: list[Json]) -> None:
    ledger, states = world.ledger, [effect["state"] for effect in effects]
    found = change.found(world.steward.files)
    said = f"{change.path}: its effects are {states}, it holds {str(found)[:40]!r}"
    ledger.expect(states.count("succeeded") <= 1, "doubled", f"{change.path}: one change succeeded twice")
    if job.overtaken is not None:
        ledger.expect(found == job.overtaken.content, "doubled", f"{said}, not what a person wrote")
        _check_overtaken(world, job, effects)
        return
    known: set[str | None] = {change.before, change.after}
    allowed = {change.after} if "succeeded" in states else known if "unknown" in states else {change.before}
    kind: Breach = "doubled" if found not in known else "lost" if "succeeded" in states else "hidden"
    ledger.expect(found in allowed, kind, said)


def _check_overtaken(world: World, job: Job, effects: list[Json]) -> None:
    """I4: since a person's change stands there, whatever is said later of the effect can only be that it is unknown."""
    overtaken = job.overtaken
    assert overtaken is not None
    for effect in effects:
        late = any(entry["step"] == "outcome" and entry["at"] > overtaken.at for entry in effect["trail"])
        if effect["effect_id"] == overtaken.effect_id and late:
            shown = effect["state"] == "unknown" and effect.get("reason") == "effect_outcome_unknown"
            world.ledger.expect(shown, "hidden", f"{job.tag}: an unknown outcome is shown as {effect['state']}")


async def check_unknown(world: World, effects: list[Json]) -> None:
    """I4: the list of unknown effects names all that are unknown, and nothing else of this round."""
    listed = await world.line.ask(lambda client: client.listed("agents.effects.list", state="unknown"))
    named = {effect["effect_id"] for effect in listed}
    for effect in effects:
        is_named = effect["effect_id"] in named
        same = is_named == (effect["state"] == "unknown")
        world.ledger.expect(same, "hidden", f"{effect['words']} is {effect['state']}, listed as unknown: {is_named}")


def check_unsettled(ledger: Ledger, detail: Json) -> None:
    """S6: a stop that is done names the effects whose outcome is unknown, and only those."""
    unknown = {effect["effect_id"] for effect in detail["effects"] if effect["state"] == "unknown"}
    for intent in detail["intents"]:
        named = {left if isinstance(left, str) else left.get("effect_id") for left in intent["unsettled"]}
        said = f"{detail['task']['title']}: a stop names {named} as unsettled, unknown are {unknown}"
        ledger.expect(named == unknown, "hidden", said)
