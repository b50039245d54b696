"""How values and failures are written into histories: Pydantic models as JSON, failures without their stack (I9).

A stack names the folders of this installation. Where something failed is in the log of the process that saw it.
"""

from temporalio.api.failure.v1 import Failure
from temporalio.contrib.pydantic import PydanticPayloadConverter
from temporalio.converter import CompositePayloadConverter, DataConverter, DefaultFailureConverter, PayloadConverter


class StacklessFailures(DefaultFailureConverter):
    """The default converter, without stack traces at any depth of causes."""

    def to_failure(self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure) -> None:
        """Write the failure, then forget its stacks."""
        super().to_failure(exception, payload_converter, failure)
        cause: Failure | None = failure
        while cause is not None:
            cause.stack_trace = ""
            cause = cause.cause if cause.HasField("cause") else None


_PYDANTIC = PydanticPayloadConverter()


class SharedPayloads(CompositePayloadConverter):
    """Pydantic's converters, made once: the SDK makes a payload converter anew for each activation of a workflow.

    A new one would bring an empty cache of type adapters, and each adapter is a schema to be built.
    """

    def __init__(self) -> None:
        super().__init__(*_PYDANTIC.converters.values())


DATA_CONVERTER = DataConverter(payload_converter_class=SharedPayloads, failure_converter_class=StacklessFailures)
"""The one converter of clients, workers and replay."""
