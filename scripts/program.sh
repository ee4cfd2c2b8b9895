#!/usr/bin/env bash
# Builds what is generated from the program and committed.
# usage: program.sh so|idl|go ...
#   so   program/artifacts/gantry_market.so   idl  idl/gantry_market.json   go  idl/bindings/*.go
source "$(dirname "$0")/common.sh"
program_sources="program/src program/framework program/Cargo.toml program/Cargo.lock program/sbf"

build_so() {
  "$root/scripts/toolchain.sh" sbf
  mkdir -p "$root/program/artifacts"
  cached_build "$(sbf_target)" "$program_sources" \
    "$root/program/sbf/build-sbf.sh" "$root/program" "$(sbf_target)" "$root/program/artifacts/gantry_market.so"
  sha256sum "$root/program/artifacts/gantry_market.so" | sed "s|$root/||" >&2
}

build_idl() {
  "$root/scripts/toolchain.sh" host sbf
  local target
  target=$(idl_target)
  cached_build "$target" program/tools/idl \
    in_dir program/tools/idl cargo "+$RUST_HOST" build --release --locked --target-dir "$target"
  # The tool builds the program's description with the program's own pinned toolchain.
  cached_build "$(program_host_target)" "$program_sources" \
    env "CARGO_TARGET_DIR=$(program_host_target)" "$target/release/gantry-idl" "$root/program" "$root/idl/gantry_market.json"
}

build_go() {
  "$root/scripts/toolchain.sh" go
  (cd "$root/idl" && go generate .)
}

[ $# -gt 0 ] || set -- so idl go
for part in "$@"; do
  case $part in
    so | go) "build_$part" ;;
    idl) hold "$(idl_target)" build_idl ;; # which runs the tool that it builds there
    *) die "unknown part $part: want so, idl or go" ;;
  esac
done
