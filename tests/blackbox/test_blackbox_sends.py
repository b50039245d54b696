"""Sending: once however often it is repeated, in order, also while Temporal is dead (I1, I2, C2, H11, H14)."""

import asyncio
from contextlib import AsyncExitStack

from tests.blackbox.conftest import StartSteward
from tests.blackbox.instance import Instance
from tests.blackbox.rpc_client import RpcClient
from tests.blackbox.scripts import delay, say
from tests.blackbox.work import check_invariants, look, until_at_rest, until_reply

TIMES = 20
CONNECTIONS = 5


async def test_the_same_send_twenty_times_at_once(shared: Instance) -> None:
    """I2, H11: one message, one turn, one reply, and twenty equal receipts, over several connections."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(shared.client()) for _ in range(CONNECTIONS)]
        before = await clients[0].history()
        receipts = await asyncio.gather(
            *(clients[number % CONNECTIONS].send(say("only once"), "same:20") for number in range(TIMES))
        )
        named = [{**receipt, "state": "any"} for receipt in receipts]
        assert named == [named[0]] * TIMES
        await until_at_rest(shared, receipts[:1])
        after = await clients[0].history()
        new = [message for message in after if message["seq"] > (before[-1]["seq"] if before else 0)]
        assert [(message["role"], message["text"]) for message in new if message["turn_id"] == named[0]["turn_id"]] == [
            ("user", say("only once")),
            ("assistant", "only once"),
        ]
        assert [message["text"] for message in new].count("only once") == 1
        session = {"session_id": clients[0].server["main_session_id"]}
        error = await clients[1].error(
            "agents.send", session, request_id="same:20", user_input={"text": say("something else")}
        )
        assert error["data"]["code"] == "request_id_conflict"
        late = await clients[2].send(say("only once"), "same:20")
        assert late == {**named[0], "state": "done"}
        assert await clients[0].history() == after


async def test_a_lost_connection_loses_nothing_that_was_accepted(shared: Instance) -> None:
    """I1, H10, H14: whether a send whose client vanished was accepted is told by its receipt, and by nothing else."""
    ids = [f"vanish:{number}" for number in range(8)]
    for request_id in ids:
        async with shared.connect() as socket:
            await socket.send(
                '{"jsonrpc":"2.0","id":1,"method":"initialize",'
                '"params":{"protocol_version":1,"client":{"name":"x","version":"1"}}}'
            )
            session = await shared.ask(_session)
            await socket.send(
                '{"jsonrpc":"2.0","id":2,"method":"plugin/client/request","params":{"plugin_id":"personal",'
                f'"method":"agents.send","request_id":"{request_id}","params":{{"session_id":"{session}"}},'
                f'"user_input":{{"text":"[[say:{request_id}]]"}}}}}}'
            )
            socket.transport.abort()
    # The same again from a client that stays: accepted now or then, each is there exactly once.
    receipts = [await shared.send(say(request_id), request_id) for request_id in ids]
    seen = await until_at_rest(shared, receipts)
    texts = [message["text"] for message in seen.messages]
    assert [texts.count(request_id) for request_id in ids] == [1] * len(ids)
    assert [texts.count(say(request_id)) for request_id in ids] == [1] * len(ids)


async def test_replies_come_in_the_order_of_acceptance(shared: Instance) -> None:
    """C1, C3: what is sent while a reply runs is queued; each has its own turn."""
    receipts = [await shared.send(delay(30) + say(f"answer {number}"), f"order:{number}") for number in range(6)]
    seen = await until_at_rest(shared, receipts)
    answers = [message["text"] for message in seen.messages if message["text"].startswith("answer ")]
    assert answers == [f"answer {number}" for number in range(6)]
    assert len({receipt["turn_id"] for receipt in receipts}) == len(receipts)


async def test_what_is_sent_without_temporal_runs_later_in_order(start_steward: StartSteward) -> None:
    """C2, D12, O22: accepted while Temporal is dead, relayed when it is back, in order, once."""
    async with start_steward("without-temporal") as steward:
        first = await steward.send(say("before"), "down:0")
        await until_reply(steward, first)
        receipts = [first]
        for round_number in range(3):
            # It comes back by itself, each time after a longer while.
            await steward.until(lambda: steward.pid("temporal") is not None, "Temporal was started again")
            steward.kill("temporal")
            receipts += [
                await steward.send(say(f"sent {round_number}.{number}"), f"down:{round_number}.{number}")
                for number in range(4)
            ]
        made = await steward.ask(
            lambda client: client.call(
                "agents.tasks.create",
                {"title": "Made without Temporal"},
                request_id="down:task",
                user_input={"text": '[[tool:submit_result {"summary":"later"}]]'},
            )
        )
        seen = await until_at_rest(steward, receipts)
        check_invariants(seen, receipts)
        said = [message["text"] for message in seen.messages if message["text"].startswith("sent ")]
        assert said == [f"sent {round_number}.{number}" for round_number in range(3) for number in range(4)]
        assert (await steward.ask(look)).task("Made without Temporal")["task_id"] == made["task"]["task_id"]


async def _session(client: RpcClient) -> str:
    return str(client.server["main_session_id"])
