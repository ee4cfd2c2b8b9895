#!/usr/bin/env bash
# Runs the tests: Rust, and that mutants are found; Go; the end-to-end scenarios. What is skipped is printed at the end.
# A test that fails is a failure: none is run a second time.
# usage: test.sh [--all] [rust] [go] [e2e]
#   --all         the long tests too, the race detector, and every scenario on each engine that is installed (make test-all)
#   GANTRY_RACE=1 the race detector for Go's unit tests (.ci/run)
source "$(dirname "$0")/common.sh"
cd "$root"
skipped=()
race=()
all=
if [ "${1:-}" = --all ]; then
  shift
  all=1 GANTRY_RACE=1
  export GANTRY_TEST_ALL=1
fi
[ -z "${GANTRY_RACE:-}" ] || race=(-race)

test_rust() {
  "$root/scripts/toolchain.sh" host
  hold "$(program_tests_target)" test_program
  step "Rust tests: idl tool"
  cached_test "$(idl_target)" program/tools/idl program/tools/idl --release
  step "Rust tests: surfnet"
  cached_test "$(surfnet_target)" localnet/surfnet localnet/surfnet --release
}

test_program() {
  step "Rust tests: program"
  "$root/scripts/governance.sh"
  cached_test "$(program_tests_target)" "program/src program/framework program/tests" program/tests ""
  GANTRY_HOSTILE_BINARY=$(program_tests_target)/debug/hostile "$root/scripts/hostile.sh" sample
}

# go_test NAME FLAGS... -- PACKAGES...: runs go test and prints failures in full and skips with their reasons.
go_test() {
  step "Go tests: $1"
  local log=build/logs/go-test-${1//[^a-z0-9]/-} flags=() line passed=0
  shift
  while [ "$1" != -- ]; do
    flags+=("$1")
    shift
  done
  shift
  go build -o build/testsum ./scripts/testsum
  go test -json "${flags[@]}" "$@" | tee "$log.json" | build/testsum | tee "$log.txt" || passed=$?
  while IFS= read -r line; do skipped+=("SKIPPED $line"); done < <(sed -n 's/^SKIPPED //p' "$log.txt")
  return $passed
}

# Property tests draw the same cases every time, so that a commit either passes or does not; `nightly.sh random` draws
# many others (RAPID_SEED=0 here for fresh ones).
test_go() {
  "$root/scripts/toolchain.sh" tpm sandbox registry ssh peers promtool openai browser clients
  "$root/scripts/build.sh" surfnet
  # One package more at a time than there are cores, since the longest mostly wait.
  # Without debugging information, which takes linkers time; what `go vet` finds is for lint.sh.
  # agent/runtime starts a hundred containers, which takes ten minutes with the race detector on two busy cores.
  RAPID_SEED=${RAPID_SEED:-20261121} go_test "unit" "${race[@]}" -timeout 30m -p $(($(getconf _NPROCESSORS_ONLN) + 1)) -vet=off -ldflags=-w -- ./...
  step "Go tests: the pictures of reports, a module of their own"
  in_dir scripts/plots go test -vet=off ./...
  step "Go tests: the compose file, with a module of its own"
  in_dir packaging/compose go test -vet=off ./...
  step "Go tests: the Helm charts, with a module of their own"
  in_dir packaging/helm go test -vet=off -ldflags=-w ./...
  step "Go tests: the node of a Kubernetes cluster, a module of its own"
  # Kubernetes' packages with the race detector take minutes to compile: only make test-all has it.
  local detector=()
  [ -z "$all" ] || detector=(-race)
  in_dir integrations/kubernetes go test "${detector[@]}" -timeout 20m -vet=off -ldflags=-w ./...
  local integration integrations=()
  for integration in ray skypilot dstack; do
    if have "$integration-python" && have gantry-python; then
      integrations+=("$integration")
    else
      skipped+=("SKIPPED integrations/$integration: it is tried after scripts/toolchain.sh clients $integration")
    fi
  done
  [ ${#integrations[@]} -eq 0 ] || "$root/scripts/clients.sh" generate "${integrations[@]}"
  if have npm; then
    "$root/scripts/clients.sh" program
  else
    skipped+=("SKIPPED clients of the program: there is no npm")
  fi
}

# Scenarios mostly wait, so that more of them run at a time than there are cores. Those that measure the machine, or change
# it, run alone (no t.Parallel).
scenarios() {
  local engine=$1
  shift
  GANTRY_ENGINE=$engine go_test "scenarios on $engine" -count=1 -timeout 60m -parallel $(($(getconf _NPROCESSORS_ONLN) + 2)) \
    -vet=off -tags e2e "$@" -- ./localnet/scenario/... ./examples/...
}

# What the embedded engine imitates, on the validator: blocks and their times, proofs, moves, sealed orders, the examples.
agave='^(TestALeaseMovesWhenItsMachineFails|TestAWrongMeasurementIsProven|TestSealedOrders|TestAgainstALocalNetwork)$'

test_e2e() {
  "$root/scripts/toolchain.sh" tpm sandbox registry ssh promtool browser clients
  "$root/scripts/build.sh" surfnet go
  scenarios surfnet
  if [ -z "$(validator)" ]; then
    skipped+=("SKIPPED scenarios on agave: solana-test-validator is not in PATH, in $cache/bin, or named by GANTRY_SOLANA_TEST_VALIDATOR")
  elif [ -n "$all" ]; then
    scenarios agave
  else
    scenarios agave -run "$agave"
  fi
}

[ $# -gt 0 ] || set -- rust go e2e
for part in "$@"; do
  case $part in
    rust | go | e2e) "test_$part" ;;
    *) die "unknown part $part: want rust, go or e2e" ;;
  esac
done
for line in "${skipped[@]}"; do say "$line"; done
say "all tests passed: $*"
