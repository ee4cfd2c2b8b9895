#!/usr/bin/env bash
# Runs all tests: Rust, and that mutants are found; Go with the race detector; the end-to-end scenarios on every
# engine that is installed. What is skipped is printed with its reason at the end. usage: test.sh [rust] [go] [e2e]
source "$(dirname "$0")/common.sh"
cd "$root"
skipped=()

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
  cached_test "$(program_tests_target)" "program/src program/tests" program/tests ""
  GANTRY_HOSTILE_BINARY=$(program_tests_target)/debug/hostile "$root/scripts/hostile.sh" sample
}

# go_test NAME ARGS...: runs go test and prints failures in full and skips with their reasons.
go_test() {
  step "Go tests: $1"
  local log
  log=build/logs/go-test-${1//[^a-z0-9]/-}.json
  shift
  go test -json "$@" | tee "$log" | go run ./scripts/testsum | tee "${log%.json}.txt"
  local reason
  while IFS= read -r reason; do skipped+=("$reason"); done < <(sed -n 's/^SKIPPED //p' "${log%.json}.txt")
}

# Property tests draw the same cases every time, so that a commit either passes or does not; `nightly.sh random` draws
# many others (RAPID_SEED=0 here for fresh ones).
test_go() {
  "$root/scripts/toolchain.sh" tpm sandbox registry promtool
  "$root/scripts/build.sh" surfnet
  RAPID_SEED=${RAPID_SEED:-20261121} go_test "unit" -race ./...
}

# Three scenarios run at a time: they mostly wait. Those that measure the machine, or change it, run alone (no t.Parallel).
test_e2e() {
  "$root/scripts/build.sh" surfnet go
  local found
  GANTRY_ENGINE=surfnet go_test "scenarios on surfnet" -count=1 -timeout 30m -parallel 3 -tags e2e ./localnet/scenario/... ./examples/...
  found=$(validator)
  if [ -n "$found" ]; then
    GANTRY_ENGINE=agave go_test "scenarios on agave" -count=1 -timeout 30m -parallel 3 -tags e2e ./localnet/scenario/... ./examples/...
  else
    skipped+=("scenarios on agave: solana-test-validator is not in PATH, in $cache/bin, or named by GANTRY_SOLANA_TEST_VALIDATOR")
  fi
}

[ $# -gt 0 ] || set -- rust go e2e
for part in "$@"; do
  case $part in
    rust | go | e2e) "test_$part" ;;
    *) die "unknown part $part: want rust, go or e2e" ;;
  esac
done
for reason in "${skipped[@]}"; do say "SKIPPED $reason"; done
say "all tests passed: $*"
