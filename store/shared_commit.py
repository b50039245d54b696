"""Units of work that come at once share a transaction on SQLite, so that the disk is waited for once for all of them.

A commit costs more than what most units do in it: the wait for the disk, the write lock, and the hops to the thread
that may wait for both. So whoever ends while others of this process queue leaves the transaction to the next in line;
the last of them, or of a bounded number, commits. Nobody waits for company: a unit that is alone commits at once.

The hard thing is that each stays what it was. It is all or nothing by itself: the first may take the whole transaction
back, later ones take back a savepoint of their own. It is acknowledged only after the commit that holds it, so that a
process that dies between two of them has told nobody of either (I1). And they follow each other, each at a moment of
its own, as if each had had the write lock for itself (decision 0003). A cancel ends a unit, never the commit of others.
"""

import asyncio
import sqlite3
from collections import deque
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final, Literal

from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession, async_sessionmaker

from store.sqlite_connection import InlineConnection
from store.write_line import WriteLine

MOST: Final = 8
"""Units that share one transaction; other processes wait for the write lock as long as it lasts."""


class _Shared:
    """One transaction: how many units have ended well in it, and when all of them are committed or none is."""

    def __init__(self, connection: AsyncConnection, driver: InlineConnection) -> None:
        self.connection = connection
        self.driver = driver
        self.units = 0
        self.committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Whoever would have read how it ended may have been cancelled.
        self.committed.add_done_callback(lambda ended: ended.cancelled() or ended.exception())

    @property
    def joins(self) -> Literal["rollback_only", "create_savepoint"]:
        """How the next unit takes part: as long as it has the transaction for itself, it needs no savepoint."""
        return "create_savepoint" if self.units else "rollback_only"


class SharedCommits:
    """Gives the units of work of this process their turns, one after the other."""

    def __init__(self, engine: AsyncEngine, sessions: async_sessionmaker[AsyncSession], line: WriteLine) -> None:
        """Nobody has a turn yet.

        Args:
            engine: Begins with the write lock, where it is not taken yet, on connections with `steward_write`.
            sessions: Makes the units' sessions.
            line: Where this process waits for other ones.
        """
        self._engine = engine
        self._sessions = sessions
        self._line = line
        self._busy = False
        self._waiting: deque[asyncio.Future[_Shared | None]] = deque()
        self._endings: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[AsyncSession]:
        """A unit of work: committed when the block is left, taken back by any exception."""
        shared = await self._turn()
        try:
            session = self._sessions(bind=shared.connection, join_transaction_mode=shared.joins)
            async with session, session.begin():
                yield session
        except BaseException:
            self._leave(shared)
            raise
        shared.units += 1
        self._leave(shared)
        await asyncio.shield(shared.committed)

    async def rest(self) -> None:
        """Wait until the transactions of cancelled units have ended too, and leave the line."""
        await asyncio.gather(*self._endings, return_exceptions=True)
        self._line.close()

    async def _turn(self) -> _Shared:
        if self._busy:
            place: asyncio.Future[_Shared | None] = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            try:
                given = await place
            except asyncio.CancelledError:
                if not place.cancelled():
                    self._decline(place.result())
                raise
            if given is not None:
                return given
        self._busy = True
        try:
            return await self._begin()
        except BaseException:
            self._decline(None)
            raise

    async def _begin(self) -> _Shared:
        connection = await self._engine.connect()
        try:
            connection = await connection.execution_options(steward_write=True)
            driver = (await connection.get_raw_connection()).driver_connection
            assert isinstance(driver, InlineConnection)
            await self._line.stand(driver.begin_write_at_once)
            _transaction = await connection.begin()
            return _Shared(connection, driver)
        except BaseException:
            await asyncio.shield(self._ending(connection.close()))
            raise

    def _decline(self, given: _Shared | None) -> None:
        """The turn was given to somebody who does not want it any more: an open transaction, or the right to begin."""
        if given is not None:
            self._leave(given)
        elif not self._give(None):
            self._busy = False

    def _leave(self, shared: _Shared) -> None:
        """Leave the transaction to the next in line, or end it."""
        goes_on = 0 < shared.units < MOST and shared.driver.in_transaction
        if not (goes_on and self._give(shared)):
            _task = self._ending(self._end(shared))

    def _give(self, shared: _Shared | None) -> bool:
        """Give the turn to the next in line; whether there is one."""
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(shared)
                return True
        return False

    async def _end(self, shared: _Shared) -> None:
        failure: BaseException | None = None
        try:
            if shared.units and not shared.driver.in_transaction:
                # Taken back by SQLite itself, as when the disk is full. The driver has nothing to commit then, and
                # would say nothing.
                raise OperationalError("COMMIT", None, sqlite3.OperationalError("the transaction was taken back"))
            if shared.units:
                await shared.connection.commit()
        except BaseException as error:
            failure = error
        try:
            await shared.connection.close()
        finally:
            if failure is None:
                shared.committed.set_result(None)
            else:
                shared.committed.set_exception(failure)
            self._decline(None)

    def _ending(self, act: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Carry something out to its end, also when whoever began it is cancelled."""
        task = asyncio.get_running_loop().create_task(act)
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)
        return task
