"""The stand-in's automations and proposals (U1-U9): rows a test puts in, read and changed as the host would.

Schedules are read, said and computed by the domain's own rules: what the page previews is what a real host answers.
"""

from datetime import UTC, datetime
from typing import Any

from domain.occurrences import next_instants
from domain.refusal import Refusal as Refused
from domain.schedule import Schedule, schedule_of
from domain.schedule_words import schedule_words
from tests.page.stand_in_authority import BOUNDS, WORDS, AuthorityRows
from tests.page.stand_in_control import SESSION, Json, Refusal, iso

WEEKDAYS_AT_8: Json = {"cron": {"expression": "0 8 * * 1-5"}, "timezone": "Europe/Berlin"}
WHAT = {"instructions", "agent_id", "engine", "permission_mode", "mode"}


def timing(schedule: Json, shown: int = 5) -> Json:
    """A schedule as stored, in words, with its next times."""
    read = schedule_of(schedule)
    if isinstance(read, Refused):
        raise Refusal(read.code, read.message, **read.details)
    assert isinstance(read, Schedule)
    times = [iso(time) for time in next_instants(read, datetime.now(UTC), shown)]
    return {"schedule": read.stored(), "words": schedule_words(read), "next_times": times}


class AutomationRows(AuthorityRows):
    """What runs by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.automations: list[Json] = []
        self.automation_proposals: list[Json] = []

    def add_automation(self, title: str = "Morning notes", schedule: Json = WEEKDAYS_AT_8, **fields: Any) -> Json:
        """Store an automation."""
        number = len(self.automations) + 1
        row: Json = {
            "automation_id": f"automation_{number}",
            "binding_id": f"binding_{number}",
            "title": title,
            "instructions": "summarise notes.txt into today.md",
            "agent_id": "twin",
            "engine": "native",
            "permission_mode": "standard",
            "mode": "new",
            "overlap": "skip",
            "catchup_s": 3600,
            "revision": 1,
            "binding_revision": 1,
            "schedule_revision": 1,
            "state": "active",
            **timing(schedule),
            "grant": None,
            "runs": [],
            "created_at": iso(),
            "updated_at": iso(),
            **fields,
        }
        self.automations.insert(0, row)
        return row

    def add_proposal(self, title: str, schedule: Json, seqs: list[int], **fields: Any) -> Json:
        """Open a proposal made in answer to messages of the main conversation (U9)."""
        proposal: Json = {
            "proposal_id": f"proposal_auto_{len(self.automation_proposals) + 1}",
            "kind": "create",
            "title": title,
            "instructions": "summarise notes.txt into today.md",
            "mode": "new",
            **timing(schedule),
            "source": {"session_id": SESSION, "message_seqs": seqs},
            "created_at": iso(),
            **fields,
        }
        self.automation_proposals.insert(0, proposal)
        return proposal

    def _do_agents_automations_preview(self, params: Json, _: Json) -> Json:
        return timing(params["schedule"], 10)

    def _do_agents_automations_list(self, params: Json, _: Json) -> Json:
        rows = [{key: value for key, value in row.items() if key != "instructions"} for row in self.automations]
        return {"items": rows, "next_cursor": None, "proposals": list(self.automation_proposals)}

    def _do_agents_automations_get(self, params: Json, _: Json) -> Json:
        return self._automation(params)

    def _do_agents_automations_create(self, params: Json, envelope: Json) -> Json:
        if len(params["title"]) > 200:
            raise Refusal("invalid_params", "A title has at most 200 characters.", field="title")
        instructions = envelope["user_input"]["text"]
        return self._written(self.add_automation(**{**params, "instructions": instructions}))

    def _do_agents_automations_confirm(self, params: Json, _: Json) -> Json:
        for proposal in self.automation_proposals:
            if proposal["proposal_id"] == params["proposal_id"]:
                self.automation_proposals.remove(proposal)
                if proposal["kind"] == "reschedule":
                    row = self._automation(proposal)
                    return self._moved(row, proposal["schedule"])
                named = {key: proposal[key] for key in ("instructions", "mode")}
                return self._written(self.add_automation(proposal["title"], proposal["schedule"], **named))
        raise Refusal("revision_conflict", "This proposal is closed. Ask for the schedule again.", state="closed")

    def _do_agents_automations_update(self, params: Json, _: Json) -> Json:
        row = self._automation(params)
        changes = {key: value for key, value in params.items() if key not in ("automation_id", "expected_revision")}
        row["binding_revision"] += any(row[key] != value for key, value in changes.items() if key in WHAT)
        row.update(changes)
        return self._written(row, 1)

    def _do_agents_automations_reschedule(self, params: Json, _: Json) -> Json:
        return self._moved(self._automation(params), params["schedule"])

    def _do_agents_automations_pause(self, params: Json, _: Json) -> Json:
        row = self._automation(params)
        row.update(state="paused", next_times=[])
        return self._written(row, 1)

    def _do_agents_automations_resume(self, params: Json, _: Json) -> Json:
        row = self._automation(params)
        row.update(state="active", **timing(row["schedule"]))
        return self._written(row, 1)

    def _do_agents_automations_trigger(self, params: Json, _: Json) -> Json:
        row = self._automation(params)
        run = {"nominal_time": iso(), "state": "ran", "cause": "manual", "count": 1, "task_id": "task_run"}
        row["runs"].insert(0, run)
        return self._written(row, 1)

    def _do_agents_automations_delete(self, params: Json, _: Json) -> Json:
        row = self._automation(params)
        self.automations.remove(row)
        return self._written({**row, "state": "deleted"}, 1)

    def _do_agents_grants_propose(self, params: Json, _: Json) -> Json:
        if "automation_id" not in params:
            return super()._do_agents_grants_propose(params, _)
        row = self._automation(params)
        held = {"automation_id": row["automation_id"], "binding_revision": row["binding_revision"]}
        self.asked_for = {"proposal_id": f"proposal_of_{row['automation_id']}", **held}
        return {**self.asked_for, "bounds": BOUNDS, **WORDS, "created_at": iso()}

    def _do_agents_grants_issue(self, params: Json, _: Json) -> Json:
        asked = getattr(self, "asked_for", None)
        if asked is None or asked["proposal_id"] != params["proposal_id"]:
            return super()._do_agents_grants_issue(params, _)
        holder = {key: asked[key] for key in ("automation_id", "binding_revision")}
        grant = self.add_grant("", hours=params["lifetime_s"] / 3600, holder=holder)
        self._automation(asked)["grant"] = {"ref": grant["grant_ref"], "state": "active"}
        return {"receipt": {"state": "done"}, "grant_ref": grant["grant_ref"], "expires_at": grant["expires_at"]}

    def _automation(self, params: Json) -> Json:
        for row in self.automations:
            if row["automation_id"] == params["automation_id"]:
                if params.get("expected_revision", row["revision"]) != row["revision"]:
                    raise Refusal("revision_conflict", revision=row["revision"])
                return row
        raise Refusal("not_found")

    def _moved(self, row: Json, schedule: Json) -> Json:
        row.update(timing(schedule), schedule_revision=row["schedule_revision"] + 1)
        return self._written(row, 1)

    def _written(self, row: Json, step: int = 0) -> Json:
        row["revision"] += step
        return {"receipt": {"state": "done"}, **{key: value for key, value in row.items() if key != "instructions"}}
