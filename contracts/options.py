"""Every duration and retry posture of workflows and activities, with its reason."""

from datetime import timedelta
from typing import TypedDict

from temporalio.common import RetryPolicy

from domain.command_action import LONGEST_TIMEOUT_S

# SQL steps: short, idempotent, in process. The worker's own retries cover a locked database; Temporal covers the rest.
LOCAL_STEP_TIMEOUT = timedelta(seconds=30)
LOCAL_STEP_RETRY = RetryPolicy(
    initial_interval=timedelta(milliseconds=100), backoff_coefficient=2.0, maximum_interval=timedelta(seconds=10)
)

# A model step may think for long; what matters is that a dead worker is noticed: it beats every third of this.
MODEL_STEP_HEARTBEAT = timedelta(seconds=10)
MODEL_STEP_TIMEOUT = timedelta(hours=2)
# The activity itself tries the provider (O3); these retries are for dead processes and locked rows.
MODEL_STEP_RETRY = RetryPolicy(
    initial_interval=timedelta(milliseconds=200), backoff_coefficient=2.0, maximum_interval=timedelta(seconds=10)
)

# Reading files and proposing effects: repeatable, on the machine with the files. A dead process is noticed by its
# heartbeat, as with every step that a server has to give to another process again.
FILES_STEP_TIMEOUT = timedelta(seconds=60)
STEP_HEARTBEAT = timedelta(seconds=10)

# The reviewer has 20 s (E8); the rest is for the rows around it. A dead process is noticed by its heartbeat.
REVIEW_WAIT_S = 20.0
REVIEW_TIMEOUT = timedelta(seconds=40)

# A claim is fresh for this long; a dispatch that has not started by then is withdrawn (E12).
DISPATCH_SCHEDULE_TO_START = timedelta(seconds=10)
CLAIM_FRESH_S = 10.0
DISPATCH_TIMEOUT = timedelta(minutes=2)
DISPATCH_HEARTBEAT = timedelta(seconds=10)
# A command takes as long as it was allowed to; a dead worker is noticed by its heartbeat, a stop ends it at once (S6).
COMMAND_DISPATCH_TIMEOUT = timedelta(seconds=LONGEST_TIMEOUT_S) + DISPATCH_TIMEOUT
ONE_ATTEMPT = RetryPolicy(maximum_attempts=1)
# Reconciliation waits out a dispatcher that is still alive, then reads the file.
RECONCILE_TIMEOUT = 2 * DISPATCH_TIMEOUT
# A claim that was too old when its dispatch began goes through the gate again, ever less often while that repeats.
GATE_AGAIN_AFTER = timedelta(seconds=1)
GATE_AGAIN_AT_MOST = timedelta(minutes=1)
EXPIRE_AGAIN_AFTER = timedelta(seconds=1)

# Signals can be lost only with the process that sends them, which repeats them; this re-read is the safety net.
REREAD_AFTER = timedelta(minutes=5)

# Supplying a schedule with its next instants: a few calls to a server that is there, or is left to the next firing.
RENEW_TIMEOUT = timedelta(seconds=60)
RENEW_RETRY = RetryPolicy(
    initial_interval=timedelta(milliseconds=200), backoff_coefficient=2.0, maximum_interval=timedelta(seconds=10),
    maximum_attempts=8,
)  # fmt: skip

# The database's clock decides when news is due: where it is behind a timer, asking again must not become a busy loop.
ATTENTION_AGAIN_AFTER = timedelta(milliseconds=100)

# A stop hears of every end it waits for; looking by itself is for what died without telling (S9).
STOP_LOOKS_AGAIN = timedelta(seconds=1)
STOP_LOOKS_AGAIN_AT_MOST = timedelta(minutes=1)

# Continue as new well before the server's own suggestion at 4,096 events (T18).
EVENTS_BEFORE_NEW_RUN = 3_500


class StepOptions(TypedDict):
    """Keyword options of an activity call."""

    start_to_close_timeout: timedelta
    retry_policy: RetryPolicy


LOCAL_STEP: StepOptions = {"start_to_close_timeout": LOCAL_STEP_TIMEOUT, "retry_policy": LOCAL_STEP_RETRY}
FILES_STEP: StepOptions = {"start_to_close_timeout": FILES_STEP_TIMEOUT, "retry_policy": LOCAL_STEP_RETRY}
