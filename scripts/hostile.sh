#!/usr/bin/env bash
# Attacks the on-chain program: every wrong account in every place, random hostile sequences under all invariants, and
# the mutants that these must find. usage: hostile.sh [matrix] [run] [mutants [--write]] [sample]
#   sample  a few mutants of all kinds, from one seed: make test runs it, so that a harness that finds nothing is noticed
#   GANTRY_HOSTILE_INSTRUCTIONS  instructions that `run` sends at least (50,000)
#   GANTRY_HOSTILE_SEED          the first sequence's seed (1)
#   GANTRY_HOSTILE_STEPS         steps in a sequence
#   GANTRY_HOSTILE_ERRORS        instructions whose refusals `run` lists by error, with commas between
#   GANTRY_HOSTILE_SEEDS         seeds for each mutant (3)
#   GANTRY_HOSTILE_MUTANTS       numbers of the mutants to look for, with commas between (all)
# --write renews docs/reports/mutants.md and program/tests/regressions for the mutants that were looked for.
source "$(dirname "$0")/common.sh"
cd "$root"
"$root/scripts/toolchain.sh" host

build_and_copy() {
  in_dir program/tests cargo "+$RUST_HOST" build --locked --target-dir "$1" --bin hostile &&
    put_bin "$1/debug/hostile" hostile
}

# make test has just built it, and keeps it in its place.
hostile=${GANTRY_HOSTILE_BINARY:-}
if [ -z "$hostile" ]; then
  step "the hostile harness"
  # A copy, since a run takes so long that other checkouts cannot wait for its end.
  cached_build "$(program_tests_target)" "program/src program/tests" build_and_copy "$(program_tests_target)"
  hostile=$root/build/bin/hostile
fi

mutants() {
  "$root/scripts/toolchain.sh" sbf
  step "a copy of the program with all mutants"
  local copy=$root/build/mutants target so=$root/build/mutants.so
  "$hostile" weave "$copy" || return
  # In the target directory of the program itself: all but the copy's own crate is built once for both.
  target=$(sbf_target)
  [ -f "$so" ] || rm -f "$target"/mutants/.gantry-*
  cached_build "$target/mutants" build/mutants "$root/program/sbf/build-sbf.sh" "$copy" "$target" "$so"
  GANTRY_PROGRAM_SO=$so "$hostile" mutants "$@" && tested "$so"
}

# Mutants that a test is to find: it must fail while the mutant is on.
tested() {
  local number name of failed=0
  system_openssl # as the tests were built
  while read -r number name of; do
    if (cd program/tests && GANTRY_PROGRAM_SO=$1 GANTRY_MUTANT=$number GANTRY_MATRIX=$of cargo "+$RUST_HOST" test --locked \
      --target-dir "$(program_tests_target)" --test all -- --exact "$name" >/dev/null 2>&1); then
      echo "mutant $number: $name does not find it"
      failed=1
    else
      echo "mutant $number: found by $name${of:+ of $of}"
    fi
  done < <("$hostile" tested)
  return $failed
}

[ $# -gt 0 ] || set -- matrix run mutants
while [ $# -gt 0 ]; do
  part=$1
  shift
  case $part in
    matrix | run) step "$part" && "$hostile" "$part" ;;
    mutants)
      if [ "${1:-}" = --write ]; then
        shift
        mutants --write
      else
        mutants
      fi
      ;;
    sample)
      GANTRY_HOSTILE_SEEDS=1 GANTRY_HOSTILE_MUTANTS=4,7,10,20,22,31,38,40,47,49,69,71,74,78,84 mutants
      ;;
    *) die "unknown part $part: want matrix, run, mutants or sample" ;;
  esac
done
