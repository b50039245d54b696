"""All kinds of work by name; the seed shuffles them."""

from collections.abc import Mapping

from tests.chaos import control_jobs, jobs, overtaken_jobs, own_jobs
from tests.chaos.jobs import Kind

_OF_THE_CONVERSATION: tuple[Kind, ...] = (
    jobs.talk,
    control_jobs.stopped_talk,
    own_jobs.own_file,
    own_jobs.own_files_one_after_the_other,
    own_jobs.own_file_while_parked,
    own_jobs.own_file_denied_while_parked,
    own_jobs.own_file_stopped,
)
_OF_TASKS: tuple[Kind, ...] = (
    jobs.handed_over,
    jobs.writes_file,
    jobs.denied_file,
    jobs.edits_file,
    jobs.replaces_large_file,
    jobs.asks,
    jobs.asks_in_vain,
    jobs.sub_task,
    control_jobs.raced_question,
    control_jobs.stopped_in_model_call,
    control_jobs.stopped_at_card,
    control_jobs.stopped_at_question,
    control_jobs.stopped_any_time,
    control_jobs.stopped_after_completion,
    control_jobs.stopped_with_sub_task,
    control_jobs.resumed_failure,
    control_jobs.stopped_delivery,
    overtaken_jobs.overtaken_file,
)
OF_THE_CONVERSATION = frozenset(kind.__name__ for kind in _OF_THE_CONVERSATION)
"""Those that make no task."""
KINDS: Mapping[str, Kind] = {kind.__name__: kind for kind in (*_OF_THE_CONVERSATION, *_OF_TASKS)}
