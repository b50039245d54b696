"""The main job with real workflows: hand over, work out of sight, deliver."""

from tests.workflows.rig import Rig


async def test_a_plain_reply_streams_and_is_stored_once(rig: Rig) -> None:
    """C1, C4: one input, one reply; what was streamed is what is stored."""
    receipt = await rig.send("[[say:hello there]]")
    message = await rig.until_message(role="assistant", turn_id=receipt.turn_id)
    assert message["text"] == "hello there"
    assert "".join(text or "" for _, text in rig.streamed) == "hello there"


async def test_a_delegated_task_is_delivered_into_the_conversation(rig: Rig) -> None:
    """T1, T5, D1-D4: the result appears once, as a delivery, after the reply that handed it over."""
    await rig.send(
        '[[tool:delegate_task {"title":"Sum","instructions":"[[tool:submit_result {\\"summary\\":\\"four\\"}]]"}]]'
        "[[then]][[say:in hand]]"
    )
    delivered = await rig.until_message(origin="delivery")
    assert [message["text"] for message in await rig.messages()][1:] == ["in hand", "echo: four"]
    (task,) = await rig.tasks()
    assert task["state"] == "completed"
    assert task["result"]["summary"] == "four"
    assert [(d["state"], d["message_seq"]) for d in task["deliveries"]] == [("delivered", delivered["seq"])]


async def test_an_unknown_tool_and_broken_arguments_are_answers_to_the_model(rig: Rig) -> None:
    """O3, T4: what a model gets wrong never wedges a turn."""
    await rig.send('[[tool:no_such_tool {"a":1}]][[tool:list_tasks {"state":7}]][[then]][[say:went on]]')
    await rig.until_message(role="assistant", text="went on")


async def test_a_model_that_refuses_ends_the_turn_in_words_and_the_next_turn_works(rig: Rig) -> None:
    """O3: a failed turn has one stored reply that says so; the conversation goes on."""
    first = await rig.send("[[error:400 no]]")
    failed = await rig.until_message(role="assistant", turn_id=first.turn_id)
    assert "the language model did not respond" in failed["text"]
    second = await rig.send("[[say:fine again]]")
    assert (await rig.until_message(role="assistant", turn_id=second.turn_id))["text"] == "fine again"


async def test_an_executor_that_only_talks_is_reminded_once_and_then_fails(rig: Rig) -> None:
    """T5, D10: talking is not completing; the failure is delivered in words."""
    await rig.send(
        '[[tool:delegate_task {"title":"Talk","instructions":"[[say:hm]][[then]][[say:well]]"}]][[then]][[say:ok]]'
    )
    delivered = await rig.until_message(origin="delivery")
    assert delivered["delivery"]["kind"] == "failure"
    (task,) = await rig.tasks()
    assert (task["state"], task["reason"]) == ("failed", "no_result_submitted")


async def test_a_result_is_delivered_verbatim_when_no_model_answers(rig: Rig) -> None:
    """D4: a result does not wait on a broken model."""
    await rig.send(
        '[[tool:delegate_task {"title":"Sum","instructions":"'
        '[[tool:submit_result {\\"summary\\":\\"[[error:400 broken]] is the answer\\"}]]"}]][[then]][[say:ok]]'
    )
    delivered = await rig.until_message(origin="delivery")
    assert delivered["text"].startswith("The task “Sum” is done. Its result:")
    assert "is the answer" in delivered["text"]
