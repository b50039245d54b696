"""Edits of an automation in any order (U3, U7): ids never change, revisions only grow, each by what it counts."""

from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.automation import WHAT
from store import automation_edits
from store.automations import binding_of
from store.tables_automations import AutomationRow
from tests.automation_owner import QUARTERS, WEEKDAYS, by, made, schedule
from tests.automation_owner import edit as edit_row
from tests.automation_owner import refusal as refusal_of
from tests.control_plane import Plane

FIELDS: dict[str, list[Any]] = {
    "title": ["a", "b"], "instructions": ["summarise a.txt into b.txt", "summarise c.txt into d.txt"],
    "mode": ["new", "continue"], "permission_mode": ["standard", "read_only"], "overlap": ["skip", "allow"],
    "catchup_s": [0, 60],
}  # fmt: skip
UPDATES = st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in FIELDS.items()})
ACTS = st.one_of(
    st.tuples(st.just("update"), UPDATES.filter(bool)),
    st.tuples(st.just("reschedule"), st.sampled_from([WEEKDAYS, QUARTERS])),
    st.tuples(st.sampled_from(["pause", "resume", "stale"]), st.none()),
)


@dataclass
class Model:
    """What the revisions have to be."""

    revision: int = 1
    binding: int = 1
    schedule: int = 1
    state: str = "active"


def expected(model: Model, row: AutomationRow, act: str, given_values: Any) -> None:
    """Follow one edit in the model."""
    model.revision += 1
    if act == "update":
        before = binding_of(row)
        model.binding += any(name in WHAT and getattr(before, name) != value for name, value in given_values.items())
    elif act == "reschedule":
        model.schedule += 1
    else:
        model.state = "paused" if act == "pause" else "active"


@given(acts=st.lists(ACTS, min_size=1, max_size=12))
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
async def test_edits_in_any_order(plane: Plane, acts: list[tuple[str, Any]]) -> None:
    """U3: never a second automation or binding; a stale write changes nothing."""
    row = await made(plane)
    ids, model = (row.automation_id, row.binding_id), Model()
    for act, values in acts:
        if act == "stale":
            stale, automation_id = model.revision + 1, row.automation_id
            refused = await refusal_of(
                plane,
                lambda tx, i=automation_id, r=stale: automation_edits.delete(tx, i, r, by(plane)),  # type: ignore[misc]
            )
            assert refused is not None
            continue
        arguments = {"update": (values, None), "reschedule": (schedule(values) if act == "reschedule" else None,)}
        expected(model, row, act, values)
        row = await edit_row(plane, act, row.automation_id, *arguments.get(act, ()))
        assert (row.automation_id, row.binding_id) == ids
        assert (row.revision, row.binding_revision, row.schedule_revision, row.state) == (
            model.revision, model.binding, model.schedule, model.state,
        )  # fmt: skip
