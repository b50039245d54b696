"""The stand-in with an audit chain: rows a test puts in, paged and filtered as the host does (A14)."""

from typing import Any

from tests.page.stand_in import Json, StandIn, iso


class AuditStandIn(StandIn):
    """A stand-in that also lists decisions, newest first."""

    def __init__(self) -> None:
        super().__init__()
        self.decisions: list[Json] = []

    def add_decision(self, kind: str, verdict: str, subject_id: str, **fields: Any) -> Json:
        """Append a decision to the chain."""
        row: Json = {
            "sequence": len(self.decisions) + 1,
            "at": iso(),
            "kind": kind,
            "subject_id": subject_id,
            "principal": "owner",
            "verdict": verdict,
            "imported": kind.startswith("legacy."),
            "details": {},
            **fields,
        }
        self.decisions.append(row)
        return row

    def _do_agents_audit_list(self, params: Json, _: Json) -> Json:
        kind = params.get("kind")
        rows = [row for row in reversed(self.decisions) if kind is None or f"{row['kind']}.".startswith(f"{kind}.")]
        if "since" in params:
            rows = [row for row in rows if row["at"] >= params["since"]]
        if "cursor" in params:
            rows = [row for row in rows if row["sequence"] < int(params["cursor"])]
        page = rows[: params["limit"]]
        return {"items": page, "next_cursor": str(page[-1]["sequence"]) if len(page) < len(rows) else None}
