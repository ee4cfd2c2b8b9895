#!/usr/bin/env bash
# Attacks the on-chain program: every wrong account in every place, random hostile sequences under all invariants, and
# the bugs planted to see that these would be found. usage: hostile.sh [matrix] [run] [planted [--write]] [sample]
#   sample  a few planted bugs of all kinds, from one seed: make test runs it, so that a harness gone blind is noticed
#   GANTRY_HOSTILE_INSTRUCTIONS  instructions that `run` sends at least (50,000)
#   GANTRY_HOSTILE_SEED          the first story's seed (1)
#   GANTRY_HOSTILE_STEPS         steps in a story
#   GANTRY_HOSTILE_ERRORS        instructions whose refusals `run` lists by error, with commas between
#   GANTRY_HOSTILE_SEEDS         stories for each planted bug (3)
#   GANTRY_HOSTILE_BUGS          numbers of the planted bugs to look for, with commas between (all)
# --write renews docs/planted-bugs.md and program/tests/regressions for the bugs that were looked for.
source "$(dirname "$0")/common.sh"
cd "$root"
"$root/scripts/toolchain.sh" host

# make test has just built it.
hostile=${GANTRY_HOSTILE_BINARY:-}
if [ -z "$hostile" ]; then
  target=$(program_tests_target)
  step "the hostile harness"
  cached_build "$target" "program/src program/tests" \
    in_dir program/tests cargo "+$RUST_HOST" build --locked --target-dir "$target" --bin hostile
  hostile=$target/debug/hostile
fi

planted() {
  "$root/scripts/toolchain.sh" sbf
  step "the program with planted bugs"
  local built so
  # In the target directory of the program itself: all but the program's own crate is built once for both.
  built=$(sbf_target) so=$root/build/planted.so
  cached_build "$built" "program/src program/Cargo.toml program/Cargo.lock program/sbf" \
    "$root/program/sbf/build-sbf.sh" "$root/program" "$built" "$so" planted-bugs
  [ -f "$so" ] || "$root/program/sbf/build-sbf.sh" "$root/program" "$built" "$so" planted-bugs
  GANTRY_PROGRAM_SO=$so "$hostile" planted "$@"
}

[ $# -gt 0 ] || set -- matrix run planted
while [ $# -gt 0 ]; do
  part=$1
  shift
  case $part in
    matrix | run) step "$part" && "$hostile" "$part" ;;
    planted)
      if [ "${1:-}" = --write ]; then
        shift
        planted --write
      else
        planted
      fi
      ;;
    sample)
      GANTRY_HOSTILE_SEEDS=1 GANTRY_HOSTILE_BUGS=4,7,10,20,22,31,38,40,47,49,69,71,74,78,84 planted
      ;;
    *) die "unknown part $part: want matrix, run, planted or sample" ;;
  esac
done
