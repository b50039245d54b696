"""How values and failures are written into histories: Pydantic models as JSON, failures without their stack (I9).

A stack names the folders of this installation. Where something failed is in the log of the process that saw it.
"""

import dataclasses

from temporalio.api.failure.v1 import Failure
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DefaultFailureConverter, PayloadConverter


class StacklessFailures(DefaultFailureConverter):
    """The default converter, without stack traces at any depth of causes."""

    def to_failure(self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure) -> None:
        """Write the failure, then forget its stacks."""
        super().to_failure(exception, payload_converter, failure)
        cause: Failure | None = failure
        while cause is not None:
            cause.stack_trace = ""
            cause = cause.cause if cause.HasField("cause") else None


DATA_CONVERTER = dataclasses.replace(pydantic_data_converter, failure_converter_class=StacklessFailures)
"""The one converter of clients, workers and replay."""
