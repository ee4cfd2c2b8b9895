#!/usr/bin/env bash
# Kills keepers, agents and commands of customers while leases are bought, run, settled and closed, on a local network of
# real binaries. usage: kill-test.sh KILLS [FILE]   FILE gets the page with the result; GANTRY_KILL_SEED repeats a seed
source "$(dirname "$0")/common.sh"
cd "$root"
[ $# -ge 1 ] || die "how many kills? usage: kill-test.sh KILLS [FILE]"
"$root/scripts/build.sh" surfnet go
page=${2:-}
[ -z "$page" ] || page=$(realpath "$page")
GANTRY_KILLS=$1 GANTRY_KILL_REPORT=$page go test -tags e2e -count=1 -timeout 3h -v -run TestA10KilledProcessesLoseNothing ./localnet/scenario/
