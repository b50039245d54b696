"""Alembic's entry: runs migrations on the connection that `store.schema` opened and locked."""

from alembic import context

from store.tables import Table

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Table.metadata,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
