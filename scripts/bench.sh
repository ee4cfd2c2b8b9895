#!/usr/bin/env bash
# Runs the benchmarks: Go benchmarks, and the compute units and size of the program.
source "$(dirname "$0")/common.sh"
"$root/scripts/toolchain.sh" go host
cd "$root"
step "program: compute units and size"
cached_test "$(program_tests_target)" "program/src program/tests" program/tests "--test all" bench --nocapture
ls -l program/artifacts/gantry_market.so >&2
step "Go benchmarks"
go test -run '^$' -bench . -benchmem "${BENCH:-./...}" | grep -vE 'no test files|^PASS$' | tee build/logs/bench.txt
