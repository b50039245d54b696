"""Working copies of the attachments that an accepted request names (C9)."""

import asyncio
from collections.abc import Sequence

from adapters.file_access import FileAccessError
from domain.refusal import refuse
from host.services import Services
from store.attachments import names_of
from store.database import Transaction


async def put_working_copies(services: Services, tx: Transaction, attachment_ids: Sequence[str]) -> None:
    """Put the copies into the files folder before the request is committed, so that an accepted one never lacks them.

    Raises:
        Refused: `not_found` when an upload's content is gone; the request is not accepted then.
    """
    if not attachment_ids:
        return
    for attachment_id, name in (await names_of(tx, attachment_ids)).items():
        try:
            await asyncio.to_thread(services.managed_files.put_working_copy, attachment_id, name)
        except FileAccessError as error:
            raise refuse(
                "orchestrator_unavailable", "The attachment cannot be copied to the files folder; nothing was accepted."
            ) from error
