"""Why a model could not answer, as codes (O3). The hard thing is that provider texts may quote the prompt: none leaves.

Owns the classification of every error a provider library raises and whether trying again makes sense.
"""

from typing import Literal, TypeAlias

from pydantic_ai import exceptions

UnavailableReason: TypeAlias = Literal[
    "timeout",
    "rate_limited",
    "quota_exhausted",
    "unauthenticated",
    "refused",
    "too_long",
    "unreachable",
    "provider_error",
    "malformed",
    "too_large",
]

_REPEATABLE_STATUS = frozenset({408, 409, 429})


class ModelUnavailable(Exception):
    """A model step got no usable answer after all tries; `reason` is a code, the provider's words are not kept."""

    code = "model_unavailable"

    def __init__(self, reason: UnavailableReason, attempts: int = 1) -> None:
        super().__init__(f"{self.code}: {reason} after {attempts} attempts")
        self.reason: UnavailableReason = reason
        self.attempts = attempts


class AttemptFailed(Exception):
    """One try failed: why, whether another one may help, and how long the provider asked to wait (seconds)."""

    def __init__(self, reason: UnavailableReason, *, repeatable: bool, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason: UnavailableReason = reason
        self.repeatable = repeatable
        self.retry_after_s = retry_after_s


_BY_TYPE: tuple[tuple[type[Exception], UnavailableReason, bool], ...] = (
    (exceptions.ModelRequestTimeout, "timeout", True),
    (exceptions.ModelTimeoutError, "timeout", True),
    (exceptions.ModelConnectionError, "unreachable", True),
    (exceptions.ModelRateLimitError, "rate_limited", True),
    (exceptions.ModelQuotaExceededError, "quota_exhausted", False),
    (exceptions.ModelAuthenticationError, "unauthenticated", False),
    (exceptions.ModelContextWindowExceededError, "too_long", False),
    (exceptions.ModelUnavailableError, "provider_error", True),
    (exceptions.ModelServerError, "provider_error", True),
    (exceptions.ContentFilterError, "refused", False),
    (exceptions.UserError, "refused", False),
)


def classify(error: Exception) -> AttemptFailed:
    """Turn any error of a model call into a code and a retry posture: 4xx but 408, 409 and 429 is not tried again."""
    if isinstance(error, AttemptFailed):
        return error
    retry_after_s = error.retry_after if isinstance(error, exceptions.ModelAPIError) else None
    status = error.status_code if isinstance(error, exceptions.ModelHTTPError) else None
    for kind, reason, repeatable in _BY_TYPE:
        if isinstance(error, kind):
            return AttemptFailed(reason, repeatable=repeatable, retry_after_s=retry_after_s)
    if status is not None and 400 <= status < 500:
        repeatable = status in _REPEATABLE_STATUS
        return AttemptFailed("timeout" if status == 408 else "refused", repeatable=repeatable)
    if status is not None:
        return AttemptFailed("provider_error", repeatable=True, retry_after_s=retry_after_s)
    if isinstance(error, exceptions.ModelRequestRejectedError):
        return AttemptFailed("refused", repeatable=False)
    # Whatever else a library raises while it reads an answer means that the answer was not what it should be.
    return AttemptFailed("malformed", repeatable=True)
