#!/usr/bin/env bash
# Tests the program on the crates of the Agave release that follows the one LiteSVM is built on: LiteSVM with the few
# lines changed that the newer crates ask for (program/tests/next), and with it every test of the program, first with
# mainnet's feature gates, then with every gate that the release knows. usage: agave-next.sh [build] [gates] [mainnet] [all]
# GANTRY_WRITE_BENCH=1 renews the release's part of docs/reports/feature-gates.md, with the part gates.
source "$(dirname "$0")/common.sh"
"$root/scripts/toolchain.sh" host

# lay_out: a folder of this checkout's files in which the tests find everything where they expect it.
next=$root/build/next
lay_out() {
  local litesvm part
  rm -rf "$next"
  mkdir -p "$next/program/tests" "$next/build"
  "$root/scripts/governance.sh"
  ln -s "$root/build/bin" "$next/build/bin"
  for part in docs idl attest client keeper agent; do ln -s "$root/$part" "$next/$part"; done
  for part in artifacts bench Cargo.toml Cargo.lock; do ln -s "$root/program/$part" "$next/program/$part"; done
  for part in mutants regressions; do ln -s "$root/program/tests/$part" "$next/program/tests/$part"; done
  # Copies are new to cargo, so that it never takes what another checkout has built for this one's.
  cp -r "$root/program/src" "$root/program/framework" "$next/program/"
  cp -r "$root/program/tests/src" "$root/program/tests/tests" "$next/program/tests/"
  cp "$root"/program/tests/next/Cargo.* "$next/program/tests/"
  in_dir program/tests cargo "+$RUST_HOST" fetch --locked --quiet
  litesvm=$(in_dir program/tests cargo "+$RUST_HOST" metadata --locked --format-version 1 |
    grep -o '"manifest_path":"[^"]*/litesvm-[0-9][^"]*"' | head -1 | cut -d'"' -f4)
  [ -n "$litesvm" ] || die "cargo does not say where the source of litesvm is"
  cp -r "$(dirname "$litesvm")" "$next/litesvm"
  patch --quiet --strip=1 --directory="$next/litesvm" <"$root/program/tests/next/litesvm.patch" ||
    die "program/tests/next/litesvm.patch does not fit $(basename "$(dirname "$litesvm")"): write it anew, or use the release of LiteSVM that has no need of it"
}

tests() {
  cargo "+$RUST_HOST" test --locked --target-dir "$(next_target)" --test all "$@"
}

next_target() { printf '%s/program-next/%s' "$cache" "$(key "$root/program/tests/next/Cargo.lock" "$RUST_HOST")"; }

in_next() {
  lay_out
  cd "$next/program/tests"
  local part
  for part in "$@"; do
    step "the program on $(grep -A1 '^name = "agave-feature-set"' Cargo.lock | sed -n 's/version = "\(.*\)"/Agave \1/p'): $part"
    case $part in
      build) tests --no-run ;;
      gates) GANTRY_EXHAUSTIVE=1 tests -- gates:: ;;
      mainnet) GANTRY_WRITE_BENCH=0 tests -- --skip gates:: ;;
      # What rent is under all gates is another figure than the committed one.
      all) GANTRY_WRITE_BENCH=0 GANTRY_FEATURES=all tests -- --skip bench::figures --skip holders::figures --skip gates:: ;;
      *) die "unknown part $part: want build, gates, mainnet or all" ;;
    esac
  done
}

[ $# -gt 0 ] || set -- gates mainnet all
hold "$(next_target)" in_next "$@"
