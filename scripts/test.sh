#!/usr/bin/env bash
# Runs all tests: Rust, and that mutants are found; Go with the race detector; the end-to-end scenarios on every
# engine that is installed. What is skipped, or passed at the second attempt only, is printed at the end. usage: test.sh [rust] [go] [e2e]
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

# go_test NAME FLAGS... -- PACKAGES...: runs go test and prints failures in full and skips with their reasons. A few tests
# that failed by their own word are run once more, alone; one that passes then is named at the end as unsteady.
go_test() {
  step "Go tests: $1"
  local log=build/logs/go-test-${1//[^a-z0-9]/-} flags=()
  shift
  while [ "$1" != -- ]; do
    flags+=("$1")
    shift
  done
  shift
  go build -o build/testsum ./scripts/testsum
  local passed=0
  go test -json "${flags[@]}" "$@" | tee "$log.json" | build/testsum -repeat "$log.failed" | tee "$log.txt" || passed=$?
  local line
  while IFS= read -r line; do skipped+=("SKIPPED $line"); done < <(sed -n 's/^SKIPPED //p' "$log.txt")
  [ $passed != 0 ] || return 0
  [ -s "$log.failed" ] || return $passed
  local package test
  while read -r package test; do
    step "once more: $package $test"
    go test -count=1 -v "${flags[@]}" -run "^$test\$" "$package" >"$log.again" 2>&1 </dev/null || {
      cat "$log.again"
      die "$test failed twice"
    }
    skipped+=("UNSTEADY $package $test failed once and passed when it was repeated: a fault of the test or of what it tests; its output is above")
  done <"$log.failed"
}

# Property tests draw the same cases every time, so that a commit either passes or does not; `nightly.sh random` draws
# many others (RAPID_SEED=0 here for fresh ones).
test_go() {
  "$root/scripts/toolchain.sh" tpm sandbox registry promtool
  "$root/scripts/build.sh" surfnet
  # One package more at a time than there are cores, since the longest mostly wait.
  # Without debugging information, which takes linkers time; what `go vet` finds is for lint.sh.
  RAPID_SEED=${RAPID_SEED:-20261121} go_test "unit" -race -p $(($(getconf _NPROCESSORS_ONLN) + 1)) -vet=off -ldflags=-w -- ./...
}

# Three scenarios run at a time: they mostly wait. Those that measure the machine, or change it, run alone (no t.Parallel).
test_e2e() {
  "$root/scripts/build.sh" surfnet go
  local found
  GANTRY_ENGINE=surfnet go_test "scenarios on surfnet" -count=1 -timeout 60m -parallel 3 -vet=off -tags e2e -- ./localnet/scenario/... ./examples/...
  found=$(validator)
  if [ -n "$found" ]; then
    GANTRY_ENGINE=agave go_test "scenarios on agave" -count=1 -timeout 60m -parallel 3 -vet=off -tags e2e -- ./localnet/scenario/... ./examples/...
  else
    skipped+=("SKIPPED scenarios on agave: solana-test-validator is not in PATH, in $cache/bin, or named by GANTRY_SOLANA_TEST_VALIDATOR")
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
