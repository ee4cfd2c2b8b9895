#!/usr/bin/env bash
# Kills processes on a local network of real binaries. usage: kill-test.sh PART KILLS [FILE]
# PART processes: keepers, agents and commands of customers, while leases are bought, run, settled and closed.
# PART containers: agents, supervisors, sandboxes, whole machines, the gateway, the registry, the bucket and commands, while
# containers with volumes are pulled, started, run, kept and moved. It needs root and runsc.
# PART serve: the HTTP server, at every transaction and write of buying and extending, for two budgets.
# FILE gets the part's section of the page with the result; GANTRY_KILL_SEED repeats a seed.
source "$(dirname "$0")/common.sh"
cd "$root"
[ $# -ge 2 ] || die "which part, and how many kills? usage: kill-test.sh processes|containers|serve KILLS [FILE]"
case $1 in
processes) test=TestKilledProcessesLoseNothing count=GANTRY_KILLS ;;
containers) test=TestKilledContainersLoseNothing count=GANTRY_CONTAINER_KILLS ;;
serve) test='TestAKilledServerBuysOnce|TestATeamSharesAServer' count=GANTRY_SERVE_KILLS ;;
*) die "no part is called $1: want processes, containers or serve" ;;
esac
"$root/scripts/build.sh" surfnet go
page=${3:-}
[ -z "$page" ] || page=$(realpath "$page")
env "$count=$2" GANTRY_KILL_REPORT="$page" go test -tags e2e -count=1 -timeout 3h -v -run "$test" ./localnet/scenario/
