#!/usr/bin/env bash
# Attacks the on-chain program: every wrong account in every place, random hostile sequences under all invariants, and
# the mutants that these must find. usage: hostile.sh [matrix] [run] [mutants [--write]] [sample] [random-mutants [--write]]
#   random-mutants  errors of usual kinds at places that a seed draws, tried against all tests of the program: an hour. A
#                   stopped run continues with the next mutant
#   sample  a few mutants of all kinds, from one seed: make test runs it, so that a harness that finds nothing is noticed
#   GANTRY_HOSTILE_INSTRUCTIONS  instructions that `run` sends at least (50,000)
#   GANTRY_HOSTILE_SEED          the first sequence's seed (1)
#   GANTRY_HOSTILE_STEPS         steps in a sequence
#   GANTRY_HOSTILE_ERRORS        instructions whose refusals `run` lists by error, with commas between
#   GANTRY_HOSTILE_SEEDS         seeds for each mutant (3)
#   GANTRY_HOSTILE_MUTANTS       numbers of the mutants to look for, with commas between (all; of random mutants those
#                                without a result)
#   GANTRY_RANDOM_SEED           the seed that random mutants are drawn from (20261202)
#   GANTRY_RANDOM_COUNT          how many random mutants (200)
#   GANTRY_RANDOM_LIST           the list of an earlier draw, whose mutants are built again: build/random-mutants.json of that
#                                run. Others take the places of those that the program no longer has
# --write renews docs/reports/mutants.md and program/tests/regressions for the mutants that were looked for, or
# docs/reports/random-mutants.md.
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

# The tests, built against the copy of the program: functions of it that they call have the mutants too. The copy's folder
# has the layout of the program's folder, because tests read files by relative paths.
tests_of_copy() {
  local crate=$root/build/random-mutants-host/program part
  mkdir -p "$crate"
  cp "$root/program/Cargo.toml" "$root/program/Cargo.lock" "$crate/"
  ln -sfn "$root/build/random-mutants/src" "$crate/src"
  for part in framework tests; do ln -sfn "$root/program/$part" "$crate/$part"; done
  cargo "+$RUST_HOST" test --no-run --locked --manifest-path "$crate/tests/Cargo.toml" --target-dir "$1" --test all \
    --message-format=json >"$root/build/random-mutants-host/messages"
  # The messages name other programs of the crate too.
  cp "$(sed -n 's/.*"executable":"\([^"]*\/all-[^"]*\)".*/\1/p' "$root/build/random-mutants-host/messages")" "$2"
}

random_mutants() {
  "$root/scripts/toolchain.sh" sbf
  step "a copy of the program with random mutants"
  local copy=$root/build/random-mutants target results tests=$root/build/random-mutants-tests
  local drawn=(weave "$copy" "${GANTRY_RANDOM_SEED:-20261202}" "${GANTRY_RANDOM_COUNT:-200}")
  [ -z "${GANTRY_RANDOM_LIST:-}" ] || drawn=(weave-again "$copy" "$GANTRY_RANDOM_LIST")
  "$hostile" random-mutants "${drawn[@]}" \
    cargo "+$RUST_SBF" check --locked --lib --message-format=json --target-dir "$(program_host_target)" || return
  target=$(sbf_target)
  [ -f "$copy.so" ] || rm -f "$target"/mutants/.gantry-*
  cached_build "$target/mutants" build/random-mutants "$root/program/sbf/build-sbf.sh" "$copy" "$target" "$copy.so" || return
  target=$(program_tests_target)
  [ -f "$tests" ] || rm -f "$target/.gantry-last"
  cached_build "$target" "build/random-mutants program/framework program/tests" tests_of_copy "$target" "$tests" || return
  # Of this list and this program: results of others say nothing about them.
  results=$cache/random-mutants/$(key "$copy.json" "$copy.so").jsonl
  mkdir -p "$(dirname "$results")"
  say "results go to $results"
  nice -n 5 "$hostile" random-mutants try "$copy.json" "$copy.so" "$tests" "$results" || return
  [ "${1:-}" != --write ] || "$hostile" random-mutants write "$copy.json" "$results"
}

[ $# -gt 0 ] || set -- matrix run mutants
while [ $# -gt 0 ]; do
  part=$1
  shift
  case $part in
    matrix | run) step "$part" && "$hostile" "$part" ;;
    mutants | random-mutants)
      if [ "${1:-}" = --write ]; then
        shift
        "${part/-/_}" --write
      else
        "${part/-/_}"
      fi
      ;;
    sample)
      GANTRY_HOSTILE_SEEDS=1 GANTRY_HOSTILE_MUTANTS=4,7,10,20,22,31,38,40,47,49,69,71,74,78,84 mutants
      ;;
    *) die "unknown part $part: want matrix, run, mutants, random-mutants or sample" ;;
  esac
done
