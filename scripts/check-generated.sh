#!/usr/bin/env bash
# Rebuilds everything that is generated and committed; fails when any of it differs from what is committed.
source "$(dirname "$0")/common.sh"
cd "$root"
generated=(program/artifacts idl/gantry_market.json idl/bindings docs/reports/images)
"$root/scripts/program.sh" so idl go
make --no-print-directory plots
changed=$(git status --porcelain -- "${generated[@]}")
if [ -n "$changed" ]; then
  git --no-pager diff --stat -- "${generated[@]}" >&2
  die "generated files differ from the committed ones; run 'make program idl plots' and commit:
$changed"
fi
say "generated files are up to date"
