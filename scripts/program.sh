#!/usr/bin/env bash
# Builds what is generated from the program and committed.
# usage: program.sh so|idl|go ...
#   so   program/artifacts/gantry_market.so   idl  idl/gantry_market.json   go  idl/market/*.go
source "$(dirname "$0")/common.sh"

build_so() {
  "$root/scripts/toolchain.sh" sbf
  mkdir -p "$root/program/artifacts"
  "$root/program/sbf/build-sbf.sh" "$root/program" "$(sbf_target)" "$root/program/artifacts/gantry_market.so"
  sha256sum "$root/program/artifacts/gantry_market.so" | sed "s|$root/||" >&2
}

build_idl() {
  "$root/scripts/toolchain.sh" host sbf
  local target
  target=$(idl_target)
  (cd "$root/program/tools/idl" && cargo "+$RUST_HOST" build --release --locked --target-dir "$target")
  # The tool builds the program's description with the program's own pinned toolchain.
  CARGO_TARGET_DIR=$(program_host_target) "$target/release/gantry-idl" "$root/program" "$root/idl/gantry_market.json"
}

build_go() {
  "$root/scripts/toolchain.sh" go
  (cd "$root/idl" && go generate .)
}

[ $# -gt 0 ] || set -- so idl go
for part in "$@"; do
  case $part in
    so | idl | go) "build_$part" ;;
    *) die "unknown part $part: want so, idl or go" ;;
  esac
done
