"""A PostgreSQL that goes away: one error for it, so that everything that goes on after an outage does (O10, O15)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from domain.refusal import Refused
from host.attention_observers import AttentionObservers
from host.broadcaster import Broadcaster
from host.live_replies import LiveReplies
from host.notices import Notices
from host.pulse import Pulse
from store.database import Database, Scope, Transaction
from store.outage import AWAY
from store.schema import prepare
from tests.postgres_server import PostgresServer

SCOPE = Scope("local", "personal")
Opening = Callable[[Scope], AbstractAsyncContextManager[Transaction]]
OPENINGS = ("read", "read_briefly", "write")


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory, free_port: Callable[[], int]) -> PostgresServer:
    return PostgresServer(tmp_path_factory.mktemp("postgres"), free_port())


@pytest.fixture
async def database(server: PostgresServer) -> AsyncIterator[Database]:
    opened = Database(server.url("postgres"))
    yield opened
    await opened.close()


@pytest.mark.parametrize("opening", OPENINGS)
async def test_a_server_that_stops_is_one_error(server: PostgresServer, database: Database, opening: str) -> None:
    """O15: under a statement, at the next connection, and whatever is opened; the unit's own errors stay themselves."""
    opens: Opening = getattr(database, opening)
    with server:
        await prepare(database)
        with pytest.raises(FileNotFoundError):
            async with opens(SCOPE):
                raise FileNotFoundError
        with pytest.raises(DBAPIError) as mistake:
            async with opens(SCOPE) as tx:
                await tx.session.execute(text("SELECT no_such_column FROM sessions"))
        assert not isinstance(mistake.value, AWAY)

        async def stopped_under_a_statement() -> None:
            async with opens(SCOPE) as tx:
                await tx.session.execute(text("SELECT 1"))
                await asyncio.to_thread(server.stop)
                await tx.session.execute(text("SELECT 1"))

        with pytest.raises(AWAY):
            await stopped_under_a_statement()
        for _ in range(2):
            with pytest.raises(AWAY):
                async with opens(SCOPE):
                    pass
    with pytest.raises(Refused) as refused:
        await prepare(database)
    assert refused.value.refusal.code == "orchestrator_unavailable"


async def test_notices_go_on_after_an_outage(server: PostgresServer, database: Database) -> None:
    """O10: the host's background work outlives its database."""
    broadcaster, pulse = Broadcaster(), Pulse()
    notices = Notices(
        database, SCOPE, pulse, broadcaster, LiveReplies(broadcaster.publish_reply), AttentionObservers(database, SCOPE)
    )
    with server:
        await prepare(database)
        await notices.begin()
        running = asyncio.create_task(notices.run())
        await asyncio.to_thread(server.stop)
        for _ in range(20):
            pulse.ring()
            await asyncio.sleep(0.05)
        assert not running.done()
        running.cancel()
