#!/usr/bin/env bash
# Runs the benchmarks of markets of 200,000 and of a million machines: minutes, and gigabytes of memory. PART names one: match, report or read.
source "$(dirname "$0")/common.sh"
"$root/scripts/toolchain.sh" go
cd "$root"
part=${PART:-all}
case $part in all | match | report | read) ;; *) die "no part is called $part: there are match, report and read" ;; esac
measure() { # PART PACKAGE BENCHMARK TIME
  [ "$part" = all ] || [ "$part" = "$1" ] || return 0
  step "scale: $1"
  GANTRY_SCALE=1 go test -run '^$' -bench "$3" -benchtime "$4" -timeout 60m "$2"
}
measure match ./keeper/match '^BenchmarkMillion$' 1s
measure report ./keeper/report '^BenchmarkLarge$' 3x
measure 'read' ./keeper/daemon '^Benchmark(FirstRead|ListForms)$' 1x
