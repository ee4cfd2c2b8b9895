#!/usr/bin/env bash
# Plays the work of operators on a local market under load (gantry-localnet rehearsal). The next build is this checkout's with
# another version in it. usage: rehearsal.sh [surfnet|agave]
source "$(dirname "$0")/common.sh"
engine=${1:-surfnet}
"$root/scripts/build.sh" surfnet go
if [ "$engine" = agave ] && [ -z "$(validator)" ]; then
  die "solana-test-validator is not in PATH, in $cache/bin, or named by GANTRY_SOLANA_TEST_VALIDATOR"
fi
cd "$root"
mkdir -p build/next
go build -ldflags '-X github.com/gantry-market/gantry/internal/version.Build=next' -o build/next/ ./keeper/cmd/gantry-keeper ./agent/cmd/gantry-agent
cp build/bin/gantry-shell build/next/
exec build/bin/gantry-localnet rehearsal --engine "$engine" --next "$root/build/next"
