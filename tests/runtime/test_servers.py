"""The fixtures' servers are real ones."""

import asyncpg
from temporalio.testing import WorkflowEnvironment

from contracts.search_attributes import ALL_KEYS


async def test_temporal_env_has_the_search_attributes(temporal_env: WorkflowEnvironment) -> None:
    """O9: the session's server answers, and its namespace knows every search attribute."""
    names = " AND ".join(f"{key.name} = 'x'" for key in ALL_KEYS)
    assert (await temporal_env.client.count_workflows(names)).count == 0


async def test_fresh_postgres_is_an_empty_database(fresh_postgres_url: str) -> None:
    """O15: a real PostgreSQL, one database per test."""
    connection = await asyncpg.connect(fresh_postgres_url.replace("+asyncpg", ""))
    try:
        assert str(await connection.fetchval("SHOW server_version")).split(".")[0].isdigit()
        tables = await connection.fetchval("SELECT count(*) FROM information_schema.tables WHERE table_schema='public'")
        assert tables == 0
    finally:
        await connection.close()
