#!/usr/bin/env bash
# Fails when a version that this repository pins directly is behind: something newer has been there for more than 90
# days, and no line of scripts/outdated.txt says why. Pins of registries that cannot be reached are printed as skipped;
# -strict makes that a failure.
# usage: outdated.sh [-strict]
source "$(dirname "$0")/common.sh"
"$root/scripts/toolchain.sh" go
cd "$root"
go build -o build/outdated ./scripts/outdated
build/outdated "$@"
