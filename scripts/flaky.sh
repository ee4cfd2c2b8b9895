#!/usr/bin/env bash
# Runs the scenarios again and again, first on a quiet computer and then beside two busy loops, and prints how often each
# failed. It fails when one did. usage: flaky.sh [RUNS] [PATTERN of tests]; logs: build/logs/flaky
source "$(dirname "$0")/common.sh"
cd "$root"
runs=${1:-20} pattern=${2:-.}
"$root/scripts/toolchain.sh" sandbox registry ssh promtool browser clients
"$root/scripts/build.sh" surfnet go
go build -o build/testsum ./scripts/testsum
go test -c -vet=off -tags e2e -o build/scenario.test ./localnet/scenario
go build -o build/test2json cmd/test2json
logs=$root/build/logs/flaky
rm -rf "$logs" && mkdir -p "$logs"

loops=()
trap '[ ${#loops[@]} = 0 ] || kill "${loops[@]}" 2>/dev/null' EXIT

# rounds NAME: all runs, and their table.
rounds() {
  local i
  for ((i = 1; i <= runs; i++)); do
    (cd localnet/scenario && GANTRY_ENGINE=${GANTRY_ENGINE:-surfnet} ../../build/test2json -t -p scenario ../../build/scenario.test \
      -test.v=test2json -test.count=1 -test.timeout 60m -test.parallel $(($(getconf _NPROCESSORS_ONLN) + 2)) -test.run "$pattern") \
      </dev/null >"$logs/$1-$i.json" 2>&1 || say "run $i, $1: something failed: $logs/$1-$i.json"
  done
  step "$runs runs, $1, load $(cut -d' ' -f1-3 /proc/loadavg)"
  build/testsum -tally "$logs/$1"-*.json
}

failed=()
rounds quiet || failed+=(quiet)
for _ in 1 2; do
  (while :; do :; done) &
  loops+=($!)
done
rounds busy || failed+=("beside two busy loops")
[ ${#failed[@]} = 0 ] || die "tests failed: ${failed[*]}"
