"""The stand-in's notifications (N2-N9): settings with channels, profiles, subscriptions, and what was seen."""

from typing import Any

from tests.page.stand_in_automations import AutomationRows
from tests.page.stand_in_control import Json, Refusal

PUSH_KEY = "BNbxGYNMhEIi9zrneh7mqV4oUanjLUK3m-mYZBc62frMKrEoMk88r3Lk596T0ck9xlT-aok0fO1KXBLV4-XqxYM"
"""A point of the curve, as an installation's public key is."""


class AttentionRows(AutomationRows):
    """What the person is told of, and where."""

    def __init__(self) -> None:
        super().__init__()
        self.settings |= {
            "notifications": {"enabled": True, "agents": {}},
            "quiet_hours": {"enabled": False, "timezone": "UTC", "start": "22:00", "end": "07:00"},
            "aggregation_s": 0,
            "channels": [],
            "push": {"application_server_key": PUSH_KEY},
        }
        self.profiles: list[Json] = [{"agent_id": "twin", "name": "Twin", "enabled": True, "revision": 0}]
        self.subscriptions: dict[str, Json] = {}
        self.seen: list[int] = []
        self.channel_urls: list[str] = []

    def _do_agents_settings_update(self, params: Json, _: Json) -> Json:
        if params["expected_revision"] != self.settings["revision"]:
            raise Refusal("revision_conflict", revision=self.settings["revision"])
        changes: dict[str, Any] = dict(params["changes"])
        if "channels" in changes:
            changes["channels"] = [self._channel(channel) for channel in changes["channels"]]
        for key, value in changes.items():
            self.settings[key] = {**self.settings[key], **value} if isinstance(value, dict) else value
        self.settings["revision"] += 1
        return {"receipt": {"state": "done"}, **self.settings}

    def _channel(self, given: Json) -> Json:
        if "url" not in given:
            return next(one for one in self.settings["channels"] if one["channel_id"] == given["channel_id"])
        scheme, separator, _ = given["url"].partition("://")
        if not separator:
            raise Refusal("invalid_params", "This is no address of Apprise.", field="url")
        self.channel_urls.append(given["url"])
        return {"channel_id": f"channel_{len(self.channel_urls)}", "kind": "apprise", "url": f"{scheme}://…"}

    def _do_agents_profiles_list(self, _params: Json, _: Json) -> Json:
        return {"items": self.profiles, "next_cursor": None}

    def _do_agents_profiles_create(self, params: Json, _: Json) -> Json:
        made = {"agent_id": f"agent_{len(self.profiles)}", "enabled": True, "revision": 1, **params}
        self.profiles.append(made)
        return {"receipt": {"state": "done"}, **made}

    def _do_agents_profiles_update(self, params: Json, _: Json) -> Json:
        return self._changed_profile(params, enabled=params["enabled"])

    def _do_agents_profiles_disable(self, params: Json, _: Json) -> Json:
        return self._changed_profile(params, enabled=False)

    def _changed_profile(self, params: Json, **changes: Any) -> Json:
        row = next(one for one in self.profiles if one["agent_id"] == params["agent_id"])
        if row["revision"] != params["expected_revision"]:
            raise Refusal("revision_conflict", revision=row["revision"])
        row.update(changes, revision=row["revision"] + 1)
        return {"receipt": {"state": "done"}, **row}

    def _do_agents_seen(self, params: Json, _: Json) -> Json:
        self.seen.append(params["up_to_seq"])
        return {"up_to_seq": max(self.seen)}

    def _do_device_push_register(self, params: Json, _: Json) -> Json:
        known = [name for name, row in self.subscriptions.items() if row["endpoint"] == params["endpoint"]]
        name = known[0] if known else f"subscription_{len(self.subscriptions) + 1}"
        self.subscriptions[name] = params
        return {"subscription_id": name}

    def _do_device_push_unregister(self, params: Json, _: Json) -> Json:
        self.subscriptions.pop(params["subscription_id"], None)
        return {}
