"""The stand-in's permissions, rules and settings: rows a test puts in, changed as the host would (A9-A11, E5-E8).

What the gate would do once a task is allowed is the test's: it opens a card, or lets the effect go on, itself.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.page.stand_in_control import ControlRows, Json, Refusal, iso

BOUNDS: Json = {
    "actions": ["file.create", "file.replace"],
    "resources": [{"kind": "path", "value": "/srv/ana/files/summary.md"}],
    "models": ["offline"],
    "engines": ["native"],
    "permission_ceiling": "standard",
}

WORDS: Json = {
    "words": "Create and change “summary.md”.",
    "words_by_language": {"en": "Create and change “summary.md”.", "zh": "新建和修改“summary.md”。"},
}


def said(words: str) -> Json:
    """Words that are the same in both languages."""
    return {"words": words, "words_by_language": {"en": words, "zh": words}}


class AuthorityRows(ControlRows):
    """What a person allows for longer than once."""

    def __init__(self) -> None:
        super().__init__()
        self.proposals: list[Json] = []
        self.grants: list[Json] = []
        self.rules: list[Json] = []
        self.settings: Json = {"revision": 0, "auto_review": True, "language": "en"}

    def add_request(self, task_id: str, effect_id: str | None = None, **fields: Any) -> Json:
        """Open a task's request for a permission (A10)."""
        request: Json = {
            "proposal_id": f"proposal_{len(self.proposals) + len(self.grants) + 1}",
            "task_id": task_id,
            "bounds": BOUNDS,
            **WORDS,
            "created_at": iso(),
            **({"effect_id": effect_id} if effect_id else {}),
            **fields,
        }
        self.proposals.append(request)
        return request

    def add_grant(self, task_id: str, state: str = "active", hours: float = 24, **fields: Any) -> Json:
        """Store a grant of a task."""
        grant: Json = {
            "grant_ref": f"grant_{len(self.grants) + 1}",
            "state": state,
            "holder": {"task_id": task_id, "requirement_version": 1},
            "bounds": BOUNDS,
            **WORDS,
            "issued_at": iso(),
            "expires_at": iso(datetime.now(UTC) + timedelta(hours=hours)),
            **fields,
        }
        self.grants.append(grant)
        return grant

    def add_rule(self, rule_id: str, words: str, **fields: Any) -> Json:
        """Store a rule."""
        rule: Json = {
            "rule_id": rule_id,
            "revision": 1,
            "kind": "file",
            "scope": {"kind": "file", "path": f"/files/{rule_id}", "operations": ["file.create", "file.replace"]},
            "words": words,
            "mode": "allow",
            "paused": False,
            "created_at": iso(),
            **fields,
        }
        self.rules.append(rule)
        return rule

    def _do_agents_grants_list(self, _params: Json, _: Json) -> Json:
        return {"items": self.grants[::-1], "next_cursor": None, "proposals": self.proposals[::-1]}

    def _do_agents_grants_propose(self, params: Json, _: Json) -> Json:
        for request in self.proposals:
            if request["task_id"] == params["task_id"]:
                return request
        return self.add_request(params["task_id"])

    def _do_agents_grants_issue(self, params: Json, _: Json) -> Json:
        for request in self.proposals:
            if request["proposal_id"] == params["proposal_id"]:
                self.proposals.remove(request)
                hours = (params["lifetime_s"] or 24 * 3600) / 3600
                grant = self.add_grant(request["task_id"], hours=hours, **said(request["words"]))
                named = {name: grant[name] for name in ("grant_ref", "expires_at")}
                return {"receipt": {"state": "done"}, **named, "grant": grant}
        raise Refusal("authorization_requirement_mismatch")

    def _do_agents_grants_revoke(self, params: Json, _: Json) -> Json:
        for grant in self.grants:
            if grant["grant_ref"] == params["grant_ref"]:
                grant.update(state="revoked", revoked_at=iso())
                return {"receipt": {"state": "done"}, "grant": grant}
        raise Refusal("not_found")

    def _do_agents_rules_list(self, _params: Json, _: Json) -> Json:
        return {"items": self.rules, "next_cursor": None}

    def _do_agents_rules_preview(self, params: Json, _: Json) -> Json:
        words = {"en": "Create and change “summary.md”, whatever is in it.", "zh": "新建和修改“summary.md”，不论内容。"}
        scope = {"kind": "file", "path": "/files/summary.md", "operations": ["file.create", "file.replace"]}
        return {"scope": scope, "scope_digest": "cd" * 32, "words": words["en"], "words_by_language": words}

    def _do_agents_rules_save(self, params: Json, envelope: Json) -> Json:
        preview = self._do_agents_rules_preview(params, envelope)
        if params["scope_digest"] != preview["scope_digest"]:
            raise Refusal("rule_scope_invalid")
        rule = self.add_rule("rule_saved", preview["words"], mode=params["mode"], scope=preview["scope"])
        return {"receipt": {"state": "done"}, "rule": rule}

    def _rule(self, params: Json) -> Json:
        for rule in self.rules:
            if rule["rule_id"] == params["rule_id"]:
                if rule["revision"] != params["expected_revision"]:
                    raise Refusal("revision_conflict", revision=rule["revision"])
                return rule
        raise Refusal("not_found")

    def _do_agents_rules_update(self, params: Json, _: Json) -> Json:
        rule = self._rule(params)
        changes: Json = {key: value for key, value in params.items() if key in ("mode", "paused")}
        rule.update(changes | {"revision": rule["revision"] + 1})
        return {"receipt": {"state": "done"}, "rule": rule}

    def _do_agents_rules_delete(self, params: Json, _: Json) -> Json:
        self.rules.remove(self._rule(params))
        return {"receipt": {"state": "done"}}

    def _do_agents_settings_get(self, _params: Json, _: Json) -> Json:
        return self.settings

    def _do_agents_settings_update(self, params: Json, _: Json) -> Json:
        if params["expected_revision"] != self.settings["revision"]:
            raise Refusal("revision_conflict", revision=self.settings["revision"])
        self.settings.update(params["changes"], revision=self.settings["revision"] + 1)
        return {"receipt": {"state": "done"}, **self.settings}
