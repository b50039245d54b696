"""All tables, for migrations and schema checks: importing this module registers them on `Table.metadata`."""

from store import (
    tables_attention,
    tables_audit,
    tables_authority,
    tables_automations,
    tables_control,
    tables_conversation,
    tables_grants,
    tables_host,
    tables_legacy,
    tables_rules,
    tables_work,
)
from store.columns import Table

__all__ = [
    "Table",
    "tables_attention",
    "tables_audit",
    "tables_authority",
    "tables_automations",
    "tables_control",
    "tables_conversation",
    "tables_grants",
    "tables_host",
    "tables_legacy",
    "tables_rules",
    "tables_work",
]
