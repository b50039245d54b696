"""Random worlds for the gate, and what may happen in them, written as a list of what must be true (I3, E12).

The reference uses nothing of the gate's domain: it compares whole actions instead of digests, looks for each grant of
a chain instead of narrowing, and reads a card's history backwards. `random_world` keeps close to a world in which all
is well, so that what is allowed and what is forbidden are both common.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any, TypeVar

FILES = "/srv/somebody/files"
WHO = ("steward", "local", "owner", "local", "personal", "twin")
"""Issuer, tenant, subject, user space, domain and agent of everything that is as it should be."""
STATES = (
    "proposed", "waiting_authorization", "waiting_decision", "claimed", "started", "succeeded", "failed", "unknown",
    "withdrawn", "refused",
)  # fmt: skip
ANSWERS: tuple[tuple[str, str], ...] = (
    ('{"verdict": "allow", "reason": "It was asked for."}', "allow"),
    ('```json\n{"verdict": "allow", "reason": "yes"}\n```', "allow"),
    ('{"verdict": "deny", "reason": "Nobody wanted that."}', "deny"),
    ('{"verdict": "unsure", "reason": "Hard to say."}', "unsure"),
    ('{"verdict": "allow", "reason": ""}', "unsure"),
    ('{"verdict": "allow"}', "unsure"),
    ('{"verdict": "deny", "verdict": "allow", "reason": "x"}', "unsure"),
    ('{"verdict": "allow", "reason": "x", "more": 1}', "unsure"),
    ('Sure: {"verdict": "allow", "reason": "x"}', "unsure"),
    ('{"verdict": "ALLOW", "reason": "x"}', "unsure"),
    ("allow", "unsure"),
    ("", "unsure"),
)
"""What a reviewer wrote, and what it counts as (E8)."""

CHANGING = (
    "stopped", "live", "resource", "mode", "model", "engine", "chain", "rules", "auto_review", "reviewed", "card",
)  # fmt: skip
"""What may become otherwise between a claim and its start."""

Action = Mapping[str, Any]
T = TypeVar("T")
U = TypeVar("U")
Pair = tuple[str, str]


@dataclass(frozen=True)
class Grant:
    """One grant of a chain; moments are seconds, `who` as in `WHO`."""

    who: tuple[str, ...]
    actions: frozenset[str]
    resources: frozenset[Pair]
    models: frozenset[str]
    engines: frozenset[str]
    ceiling: str
    expires_s: int
    revoked: bool


@dataclass(frozen=True)
class MadeRule:
    """A rule that was made from an action; `operations` where a file rule was narrowed by hand."""

    kind: str
    action: Action
    mode: str
    in_force: bool
    operations: tuple[str, ...] = ("file.create", "file.replace")


@dataclass(frozen=True)
class CardEvent:
    """What was done to a card: `allow_once` or `deny` naming a version and an action, `invalidate`, or its timer."""

    at_s: int
    what: str
    version: int
    action: Action


@dataclass(frozen=True)
class ShownCard:
    """A card about an action with what happened to it, in order."""

    action: Action
    expires_s: int | None
    events: tuple[CardEvent, ...]


@dataclass(frozen=True)
class World:
    """Everything around one effect at one moment; no `chain` for a reply of the main conversation (A13)."""

    now_s: int
    kind: str
    action: Action
    state: str
    stopped: bool
    live: bool
    resource: str | None
    mode: str
    model: str
    engine: str
    task: bool
    chain: tuple[Grant, ...]
    rules: tuple[MadeRule, ...]
    auto_review: bool
    had_rule: bool
    reviewed: tuple[Action, str, str] | None
    card: ShownCard | None


def may_happen(world: World) -> bool:
    """Whether the effect may be claimed in this world."""
    return (
        world.state in ("proposed", "waiting_authorization", "waiting_decision")
        and not world.stopped
        and world.live
        and world.resource is None
        and world.mode == "standard"
        and (not world.task or (bool(world.chain) and all(_grants(world, one) for one in world.chain)))
        and (_agreed(world) if world.card is None else _approved(world, world.card))
    )


def _grants(world: World, grant: Grant) -> bool:
    wanted = _acts_on(world.kind, world.action)
    return (
        grant.who[3:] == WHO[3:]
        and grant.who == world.chain[0].who  # whoever granted: the same person all the way down
        and not grant.revoked
        and world.now_s < grant.expires_s
        and _name(world.kind, world.action) in grant.actions
        and all(any(_inside(one, other) for other in grant.resources) for one in wanted)
        and world.model in grant.models
        and world.engine in grant.engines
        and grant.ceiling in ("standard", "unconfined")
    )


def _name(kind: str, action: Action) -> str:
    names = {"file": "operation", "connector": "tool"}
    if kind in names:
        return f"{kind}.{action[names[kind]]}"
    return "command.input" if action["operation"] == "input" else "command.run"


def _acts_on(kind: str, action: Action) -> list[Pair]:
    if kind == "file":
        return [("path", action["path"])]
    if kind == "command":
        return [("command", action["executable"]["path"])]
    return [("account", action["account"]), ("mcp_tool", f"{action['server_id']}/{action['tool']}")]


def _inside(wanted: Pair, granted: Pair) -> bool:
    if wanted[0] != "path" or granted[0] != "path":
        return wanted == granted
    inner, outer = (value.strip("/").split("/") if value.strip("/") else [] for value in (wanted[1], granted[1]))
    return ".." not in inner + outer and inner[: len(outer)] == outer


def _agreed(world: World) -> bool:
    """Without a card: a rule allows it and none asks, or no rule says anything and the review allows it."""
    modes = [rule.mode for rule in world.rules if rule.in_force and _describes(rule, world)]
    if modes:
        return "ask" not in modes
    if not world.auto_review or world.reviewed is None or not _may_be_reviewed(world):
        return False
    about, _, counts_as = world.reviewed
    return about == world.action and counts_as == "allow"


def _describes(rule: MadeRule, world: World) -> bool:
    made, action = rule.action, world.action
    if rule.kind != world.kind:
        return False
    if rule.kind == "file":
        return made["path"] == action["path"] and _name("file", action) in rule.operations
    if rule.kind == "command":
        return made["operation"] == "run" and made == action
    return bool(action["account"]) and "recipients" in action and made == action


def _may_be_reviewed(world: World) -> bool:
    if world.kind == "file":
        return True
    if world.kind == "command":
        return world.action["operation"] == "run" and bool(world.action["permissions"]["confined"])
    return bool(world.action["account"]) and "recipients" in world.action


def _approved(world: World, card: ShownCard) -> bool:
    if card.action != world.action or (card.expires_s is not None and world.now_s >= card.expires_s):
        return False
    counted = [event for event in card.events if event.at_s <= world.now_s and _counts(event, card)]
    voided = any(event.what == "invalidate" for event in counted)
    return bool(counted) and counted[0].what == "allow_once" and not voided


def _counts(event: CardEvent, card: ShownCard) -> bool:
    late = card.expires_s is not None and event.at_s >= card.expires_s
    if event.what == "invalidate":
        return True
    if event.what == "expire":
        return late
    return not late and event.version == 1 and event.action == card.action


def random_world(chance: Random) -> World:
    """A world in which each thing is well most of the time."""
    kind = chance.choice(("file", "file", "command", "connector"))
    action = random_action(chance, kind)
    task = chance.random() < 0.7
    reviewed = None
    if chance.random() < 0.7:
        answer = ANSWERS[0] if chance.random() < 0.6 else chance.choice(ANSWERS)
        reviewed = (_mostly(chance, action, near_miss(chance, kind, action)), *answer)
    return World(
        now_s=chance.randint(0, 30),
        kind=kind,
        action=action,
        state=_mostly(chance, chance.choice(STATES[:3]), chance.choice(STATES)),
        stopped=chance.random() < 0.04,
        live=chance.random() > 0.04,
        resource=_mostly(chance, None, chance.choice(("precondition_changed", "protected_path"))),
        mode=_mostly(chance, "standard", chance.choice(("read_only", "unconfined", "root", "Standard"))),
        model=_mostly(chance, "m", "n"),
        engine=_mostly(chance, "native", "codex"),
        task=task,
        chain=tuple(_grant(chance, kind, action) for _ in range(chance.choice((1, 1, 1, 2, 3, 0)))) if task else (),
        rules=tuple(_rule(chance, kind, action) for _ in range(chance.choice((0, 0, 1, 1, 2, 3)))),
        auto_review=chance.random() < 0.8,
        had_rule=chance.random() < 0.2,
        reviewed=reviewed,
        card=_card(chance, kind, action) if chance.random() < 0.4 else None,
    )


def changed_world(chance: Random, world: World) -> World:
    """The same world a while later, in one case of two with one thing that is otherwise."""
    other = random_world(chance)
    changes: dict[str, Any] = {"now_s": world.now_s + chance.choice((-1, 0, 1, 3, 9, 10, 11))}
    if chance.random() < 0.5:
        name = chance.choice(CHANGING)
        # A task keeps to be one, and has grants of its own kind of action only by chance.
        changes[name] = getattr(other, name) if name != "chain" or world.task else ()
    elif chance.random() < 0.2:
        changes["action"] = near_miss(chance, world.kind, world.action)
    return replace(world, **changes)


def random_action(chance: Random, kind: str) -> Action:
    """An action of this kind, with the fields that the product's own have."""
    if kind == "file":
        return {
            "kind": "file", "operation": chance.choice(("create", "replace")), "path": _path(chance),
            "precondition": "absent", "content_sha256": chance.choice("ab") * 64, "content_size": chance.randint(0, 9),
            "created_parents": [],
        }  # fmt: skip
    program = {"path": chance.choice(("/usr/bin/make", "/usr/bin/cat")), "sha256": chance.choice("ab") * 64}
    if kind == "command" and chance.random() < 0.1:
        return {
            "kind": "command", "operation": "input", "process_id": "process_1", "executable": program,
            "text_sha256": "a" * 64, "text_size": 1,
        }  # fmt: skip
    if kind == "command":
        return {
            "kind": "command", "operation": "run", "argv": ["make", *chance.sample(("all", "-B", ""), 2)],
            "executable": program, "cwd": _path(chance), "environment": {"names": ["PATH"], "sha256": "b" * 64},
            "permissions": {"network": chance.random() < 0.2, "confined": chance.random() < 0.8},
            "stdin_sha256": "c" * 64, "interactive": chance.random() < 0.1,
        }  # fmt: skip
    action = {
        "kind": "connector", "server_id": "mail", "account": "me@example.org", "tool": "send",
        "recipients": [chance.choice(("you@example.org", "them@example.org"))],
        "arguments_sha256": chance.choice("ab") * 64,
    }  # fmt: skip
    if chance.random() < 0.1:
        del action["recipients"]
    return action


def near_miss(chance: Random, kind: str, action: Action) -> Action:
    """The action with one field of another; sometimes that is the same value."""
    other = random_action(chance, kind)
    shared = sorted(set(action) & set(other) - {"operation"} if kind == "command" else set(action) & set(other))
    name = chance.choice(shared)
    return {**action, name: other[name]}


def _path(chance: Random) -> str:
    return FILES + chance.choice(("/a", "/a/b", "/a/b/c", "/ab", "/a-old/b", ""))


def _mostly(chance: Random, well: T, otherwise: U) -> T | U:
    return well if chance.random() < 0.95 else otherwise


def _grant(chance: Random, kind: str, action: Action) -> Grant:
    wanted = _acts_on(kind, action)
    wide = [*wanted, ("path", FILES)] if chance.random() < 0.9 else [("path", _path(chance)), *wanted[1:]]
    some = [("path", "/"), ("path", "/srv/somebody/files-old"), ("path", FILES + "/../x"), ("account", FILES)]
    held = chance.sample(wide, chance.randint(1, len(wide))) + chance.sample(some, chance.randint(0, 1))
    names = ["file.create", "file.replace", "command.run", "command.input", "connector.send"]
    return Grant(
        who=tuple(_rarely(chance, name) for name in WHO),
        actions=frozenset(names if chance.random() < 0.9 else chance.sample(names, 2)),
        resources=frozenset(held),
        models=frozenset(_mostly(chance, "mn", "n")),
        engines=frozenset(("native", "codex") if chance.random() < 0.95 else ("codex",)),
        ceiling=_mostly(chance, chance.choice(("standard", "unconfined")), chance.choice(("read_only", "root"))),
        expires_s=chance.randint(0, 300),
        revoked=chance.random() < 0.03,
    )


def _rarely(chance: Random, name: str) -> str:
    return name if chance.random() < 0.99 else "another"


def _rule(chance: Random, kind: str, action: Action) -> MadeRule:
    if chance.random() < 0.2:
        kind = chance.choice(("file", "command", "connector"))
        action = random_action(chance, kind)
    elif chance.random() < 0.3:
        action = near_miss(chance, kind, action)
    narrowed = chance.choice((("file.create",), ("file.replace",), ()))
    return MadeRule(
        kind=kind,
        action=action,
        mode="allow" if chance.random() < 0.75 else "ask",
        in_force=chance.random() < 0.85,
        operations=_mostly(chance, ("file.create", "file.replace"), narrowed),
    )


def _card(chance: Random, kind: str, action: Action) -> ShownCard:
    shown = _mostly(chance, action, near_miss(chance, kind, action))
    events = [
        CardEvent(
            at_s=chance.randint(0, 15),
            what=chance.choice(("allow_once",) * 6 + ("deny", "invalidate", "expire")),
            version=_mostly(chance, 1, 2),
            action=_mostly(chance, shown, near_miss(chance, kind, shown)),
        )
        for _ in range(chance.choice((0, 1, 1, 1, 1, 2, 3)))
    ]
    return ShownCard(shown, chance.choice((None, None, 10, 20, 60)), tuple(sorted(events, key=lambda one: one.at_s)))
