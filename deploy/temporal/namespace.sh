#!/bin/sh
# Creates the namespace where it is missing; Steward itself registers search attributes and sets the retention.
set -eu

temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1 \
    || temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention 90d
