#!/usr/bin/env bash
# Attacks the on-chain program: every wrong account in every place, random hostile sequences under all invariants, and
# the bugs planted to see that these would be found. usage: hostile.sh [matrix] [run] [planted [--write]]
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

target=$(program_tests_target)
step "the hostile harness"
cached_build "$target" "program/src program/tests" \
  in_dir program/tests cargo "+$RUST_HOST" build --locked --target-dir "$target" --bin hostile
hostile=$target/debug/hostile

planted() {
  "$root/scripts/toolchain.sh" sbf
  step "the program with planted bugs"
  local built so
  built=$(sbf_target)-planted so=$root/build/planted.so
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
    *) die "unknown part $part: want matrix, run or planted" ;;
  esac
done
