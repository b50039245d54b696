"""The SQLite file of a Steward that has run before: the product's migrations make it once for a test process.

It is put where a Steward will look for its own, which then finds nothing to migrate; what a first start does is shown
by the tests that begin with an empty folder.
"""

import tempfile
from contextlib import suppress
from pathlib import Path

from store.database import Database
from store.schema import prepare

_content: list[bytes] = []


async def put_prepared_file(path: Path) -> None:
    """Write a database with the newest schema and no row to `path`, unless a file is there."""
    if not _content:
        _content.append(await _made())
    with suppress(FileExistsError), open(path, "xb") as file:  # noqa: ASYNC230 - a test's own file, written in no time
        file.write(_content[0])


async def _made() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "steward.sqlite"
        database = Database(f"sqlite+aiosqlite:///{path}")
        await prepare(database)
        # The last connection that is closed moves the write-ahead log into the file.
        await database.close()
        return path.read_bytes()
