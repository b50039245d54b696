"""The main job as its user has it: hand over, work out of sight, decide the card, read the result (issue 2)."""

import base64
import hashlib

from tests.blackbox.conftest import StartSteward
from tests.blackbox.instance import Instance
from tests.blackbox.rpc_client import Json, RpcClient
from tests.blackbox.scripts import delegate, say, steps, tool
from tests.blackbox.work import check_invariants, decide, look, until_at_rest, until_card, until_message, until_reply

NOTES = "Buy apples.\nCall the bank about the lease.\nWater the plants on Friday.\n"


async def read_whole(client: RpcClient, method: str, named: Json, piece: int = 10_000) -> bytes:
    """Read a file in slices of base64 and check its digest and size (C10)."""
    data = ""
    while True:
        page = await client.call(method, {**named, "offset": len(data), "length": piece})
        assert page["offset"] == len(data)
        data += page["data"]
        if len(data) == page["total_base64_length"]:
            break
        assert page["data"]
    content = base64.b64decode(data, validate=True)
    assert (len(content), hashlib.sha256(content).hexdigest()) == (page["size"], page["sha256"])
    return content


async def test_the_offline_model_does_the_main_job(start_steward: StartSteward) -> None:
    """O1, O2, D2: nothing is configured; the file is summarised by a hidden task after a person allowed the change."""
    async with start_steward("offline", STEWARD_MODEL="offline", STEWARD_MODEL_BASE_URL="") as steward:
        (steward.files / "notes.txt").write_text(NOTES, "utf-8")
        receipt = await steward.send("summarise notes.txt into summary.md", "job:1")
        assert receipt["state"] == "accepted"
        assert not (steward.files / "summary.md").exists()
        card = await until_card(steward)
        assert card["details"]["diff"]
        assert "summary.md" in card["words"]
        (waiting,) = (await steward.ask(look)).tasks
        assert waiting["state"] == "waiting_approval"
        assert not (steward.files / "summary.md").exists()
        decided = await decide(steward, card)
        assert (decided["approval"]["state"], decided["receipt"]["state"]) == ("approved", "done")
        seen = await until_at_rest(steward, [receipt])
        check_invariants(seen, [receipt])
        written = (steward.files / "summary.md").read_text("utf-8")
        assert "Call the bank about the lease." in written
        (task,) = seen.tasks
        assert task["state"] == "completed"
        # What was said, that it is in hand, the request for authority (A10), the result.
        assert [message["role"] for message in seen.messages] == ["user", "assistant", "assistant", "assistant"]
        delivered = seen.messages[-1]
        asked, brought = task["deliveries"]
        assert (asked["kind"], brought["kind"]) == ("authorization", "result")
        assert delivered["delivery"] == {
            "delivery_id": brought["delivery_id"], "kind": "result", "task_id": task["task_id"],
        }  # fmt: skip
        assert task["result"]["summary"] in delivered["text"]
        for artifact in task["result"]["artifacts"]:
            named = {"task_id": task["task_id"], "artifact_id": artifact["artifact_id"]}
            content = await steward.ask(
                lambda client, named=named: read_whole(client, "agents.tasks.artifact.read", named)  # type: ignore[misc]
            )
            assert content == (steward.files / artifact["name"]).read_bytes()
        help_text = await until_reply(steward, await steward.send("what is the weather like?", "job:2"))
        assert "offline mode" in help_text["text"].lower()


async def test_a_scripted_model_does_the_main_job(shared: Instance) -> None:
    """T1, T5, T16, C9, C10, D1, E9, E20: attachment in, file and artifact out, everything on record."""
    content = ("line of the attachment\n" * 2000).encode()
    attachment = await shared.upload(content, "b%C3%A9ta%20notes.txt")
    assert (attachment["name"], attachment["size"]) == ("béta notes.txt", len(content))
    assert attachment["sha256"] == hashlib.sha256(content).hexdigest()
    attachment_id = attachment["attachment_id"]
    working_copy = f"attachments/{attachment_id}/béta notes.txt"
    instructions = steps(
        tool("read_file", path=working_copy),
        tool("report_progress", text="half way"),
        tool("write_file", path="out/report.md", content="# Report\n"),
        tool("submit_result", summary="It is all there.", artifacts=["out/report.md"]),
    )
    script = delegate("Scripted main job", instructions, attachment_ids=[attachment_id])
    receipt = await shared.send(script, "scripted:1", attachment_ids=[attachment_id])
    assert (await until_reply(shared, receipt))["text"] == "in hand"
    assert (shared.files / working_copy).read_bytes() == content
    task = (await shared.ask(look)).task("Scripted main job")
    card = await until_card(shared, task_id=task["task_id"])
    assert "+# Report" in card["details"]["diff"]
    await decide(shared, card)
    seen = await until_at_rest(shared, [receipt])
    assert (shared.files / "out/report.md").read_text() == "# Report\n"
    detail = await shared.ask(lambda client: client.call("agents.tasks.get", {"task_id": task["task_id"]}))
    assert detail["requirements"][0]["instructions"] == instructions
    assert [(attempt["attempt"], attempt["state"]) for attempt in detail["attempts"]] == [(1, "succeeded")]
    assert [effect["state"] for effect in detail["effects"]] == ["succeeded"]
    assert [(delivery["kind"], delivery["state"]) for delivery in detail["deliveries"]] == [
        ("authorization", "delivered"), ("result", "delivered"),
    ]  # fmt: skip
    assert detail["task"]["progress"] == "half way"
    assert {"task:" + task["task_id"], f"attempt:{task['task_id']}:1:1"} <= {
        workflow["workflow_id"] for workflow in detail["workflows"]
    }
    assert any(message["text"] == "echo: It is all there." for message in seen.messages)
    (artifact,) = detail["task"]["result"]["artifacts"]
    named = {"task_id": task["task_id"], "artifact_id": artifact["artifact_id"]}
    attached = {"session_id": shared_session(seen.messages), "message_seq": receipt["message_seq"]}
    async with shared.client() as client:
        assert await read_whole(client, "agents.tasks.artifact.read", named) == b"# Report\n"
        read = {**attached, "attachment_id": attachment_id}
        assert await read_whole(client, "host.session.attachment.read", read) == content
        shown = next(message for message in await client.history() if message["seq"] == receipt["message_seq"])
        assert shown["attachments"] == [attachment]
        other = {**read, "message_seq": receipt["message_seq"] + 1, "offset": 0, "length": 4}
        assert (await client.error("host.session.attachment.read", other))["data"]["code"] == "not_found"


async def test_a_task_made_by_a_client_is_delivered(shared: Instance) -> None:
    """T1, I2: `agents.tasks.create` is accepted once; its result appears in the main conversation."""
    params = {"title": "Made by a client"}
    said = {"text": tool("submit_result", summary="made and done")}
    made = await shared.ask(
        lambda client: client.call("agents.tasks.create", params, request_id="made:1", user_input=said)
    )
    again = await shared.ask(
        lambda client: client.call("agents.tasks.create", params, request_id="made:1", user_input=said)
    )
    assert made["receipt"] == again["receipt"]
    assert made["task"]["task_id"] == again["task"]["task_id"]
    delivered = await until_message(shared, text="echo: made and done")
    assert delivered["delivery"]["task_id"] == made["task"]["task_id"]


async def test_a_denied_change_is_not_made_and_the_task_goes_on(shared: Instance) -> None:
    """E9, E10, E13: no means no; the executor is told, and a second decision is refused."""
    instructions = steps(
        tool("write_file", path="denied.txt", content="never"), tool("fail_task", reason="the person said no")
    )
    receipt = await shared.send(delegate("Denied change", instructions), "denied:1")
    await until_reply(shared, receipt)
    task = (await shared.ask(look)).task("Denied change")
    card = await until_card(shared, task_id=task["task_id"])
    wrong = {"approval_id": card["approval_id"], "version": card["version"], "action_digest": "0" * 64}
    async with shared.client() as client:
        error = await client.error(
            "agents.approvals.decide", {**wrong, "decision": "allow_once"}, request_id="denied:wrong"
        )
        assert error["data"]["code"] == "action_digest_mismatch"
    await decide(shared, card, "deny")
    async with shared.client() as client:
        stale = {key: card[key] for key in ("approval_id", "version", "action_digest")}
        error = await client.error(
            "agents.approvals.decide", {**stale, "decision": "allow_once"}, request_id="denied:late"
        )
        assert error["data"]["code"] == "approval_version_conflict"
    seen = await until_at_rest(shared, [receipt])
    assert not (shared.files / "denied.txt").exists()
    assert seen.effect_of(task)["state"] == "refused"
    ended = seen.task("Denied change")
    assert (ended["state"], ended["deliveries"][-1]["kind"]) == ("failed", "failure")


async def test_a_change_of_the_conversation_itself_waits_parked(shared: Instance) -> None:
    """C1, A13: a turn that waits for a card is parked when others wait; the decision continues it."""
    first = await shared.send(
        steps(tool("write_file", path="own.txt", content="mine"), say("written")), "parked:1"
    )
    card = await until_card(shared, turn_id=first["turn_id"])
    second = await shared.send(say("meanwhile"), "parked:2")
    assert (await until_reply(shared, second))["text"] == "meanwhile"
    parked = await until_reply(shared, first)
    assert parked["card"] == card["approval_id"]
    assert parked["seq"] < (await until_reply(shared, second))["seq"]
    assert not (shared.files / "own.txt").exists()
    await decide(shared, card)
    continued = await until_message(shared, text="written")
    assert (continued["origin"], continued["role"]) == ("reply", "assistant")
    assert (shared.files / "own.txt").read_text() == "mine"


def shared_session(messages: list[Json]) -> str:
    return str(messages[0]["session_id"])
