#!/bin/sh
# Creates Temporal's two databases where they are missing and brings their schema up to this version; safe to repeat.
# SQL_PLUGIN, SQL_HOST, SQL_PORT, SQL_USER and SQL_PASSWORD are read by temporal-sql-tool itself.
set -eu

schema=/etc/temporal/schema/postgresql/v12

prepare() {
    temporal-sql-tool --db "$1" create
    temporal-sql-tool --db "$1" setup-schema -v 0.0
    temporal-sql-tool --db "$1" update-schema -d "$schema/$2/versioned"
}

prepare temporal temporal
prepare temporal_visibility visibility
