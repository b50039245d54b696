"""Failures without private text (I9): what an activity raises is stored in a workflow's history, so only its type goes.

A refusal becomes a failure of its code that is not tried again; anything else keeps its class name and is retried as
the call's options say. Where it happened is logged as file and line, without the exception's own words.
"""

import traceback
from typing import Any

import structlog
from temporalio.exceptions import ApplicationError, FailureError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from domain.refusal import Refused

log = structlog.get_logger(__name__)


class PrivateFailures(Interceptor):
    """Worker interceptor that strips the words from failures of activities."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """Put the stripping around the activity."""
        return _Stripping(next)


class _Stripping(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: ANN401 - as in the base class
        """Run the activity; replace what it raises."""
        try:
            return await self.next.execute_activity(input)
        except FailureError:
            raise
        except Refused as refused:
            code = refused.refusal.code
            failure = ApplicationError("refused", type=code, non_retryable=True)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            log.warning(
                "activity_failed", error=type(error).__name__, file=place.filename.rsplit("/", 1)[-1], line=place.lineno
            )
            failure = ApplicationError("failed", type=type(error).__name__)
        raise failure from None
