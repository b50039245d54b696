"""How values reach histories: with what is costly made once."""

from temporalio.converter import DataConverter

from contracts.conversation import TurnEnded
from runtime.data_converter import DATA_CONVERTER


def test_every_payload_converter_shares_its_schemas() -> None:
    """T18: the SDK makes one for each activation of a workflow; all of them read by the same adapters."""
    one = DATA_CONVERTER.payload_converter.to_payloads([TurnEnded(turn_id="turn_1")])
    other = DataConverter(payload_converter_class=DATA_CONVERTER.payload_converter_class).payload_converter
    assert other is not DATA_CONVERTER.payload_converter
    assert other.from_payloads(one, [TurnEnded]) == [TurnEnded(turn_id="turn_1")]
    made, again = (DATA_CONVERTER.payload_converter_class() for _ in range(2))
    assert made.converters[b"json/plain"] is again.converters[b"json/plain"]  # type: ignore[attr-defined]
