"""An owner who grants at once and widely: for tests that are about something else than grants (A).

The grant is issued by the product's own functions, in the transaction that gives the task its instructions, so no run
ever waits for it.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest import mock

from domain.grant import Bounds, Resource
from domain.grant_bounds import FILE_WORK
from store import grants, tasks
from store.authority import LOCAL_OWNER
from store.database import Transaction
from store.grant_proposals import OPEN
from store.grants import Issuer
from store.tables_grants import GrantProposalRow, GrantRow
from store.tables_work import TaskRow

MODELS = frozenset({"offline", "openai-chat:fake-model"})

COMMANDS = frozenset(
    Resource(kind="command", value=os.path.realpath(found))
    for name in ("cat", "env", "sh", "sleep") if (found := shutil.which(name)) is not None
)  # fmt: skip
"""Commands are granted by their resolved path, one by one; tests get along with these."""


def wide_bounds(tx: Transaction, task: TaskRow, **narrower: Any) -> Bounds:
    """Everything that files can suffer, anywhere, and some commands; what is named here is narrower."""
    wide = Bounds(
        issuer=LOCAL_OWNER.issuer, tenant=LOCAL_OWNER.tenant, subject=LOCAL_OWNER.subject,
        user_space=tx.scope.user_space, domain=tx.scope.domain, agent_id=task.agent_id,
        actions=FILE_WORK | {"command.run", "command.input"},
        resources=frozenset({Resource(kind="path", value="/"), *COMMANDS}), models=MODELS,
        engines=frozenset({"native"}), permission_ceiling="unconfined",
        issued_at=tx.now, expires_at=tx.now + timedelta(hours=1),
    )  # fmt: skip
    return wide.model_copy(update=narrower)


async def grant_widely(tx: Transaction, task: TaskRow, *, lifetime_s: int = 3600, **narrower: Any) -> GrantRow:
    """Issue a grant for a task's present instructions."""
    proposal = GrantProposalRow(
        proposal_id=tx.new_id("proposal"), user_space=tx.scope.user_space, domain=tx.scope.domain,
        task_id=task.task_id, requirement_version=task.requirement_version,
        bounds=wide_bounds(tx, task, **narrower).fields(), words={"en": "everything", "zh": "一切"}, state=OPEN,
        created_at=tx.now,
    )  # fmt: skip
    tx.session.add(proposal)
    await tx.session.flush()
    request_id = f"grant:{proposal.proposal_id}"
    return (await grants.issue(tx, proposal.proposal_id, lifetime_s, Issuer(), request_id, "owner"))[1]


@contextmanager
def granted_at_once() -> Iterator[None]:
    """Every task of this process is granted everything as it gets its instructions."""
    add_requirement = tasks.add_requirement

    async def and_grant(tx: Transaction, task: TaskRow, **given: Any) -> None:
        await add_requirement(tx, task, **given)
        await grant_widely(tx, task)

    with mock.patch.object(tasks, "add_requirement", and_grant):
        yield
