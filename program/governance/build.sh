#!/usr/bin/env bash
# Builds SPL Governance to a shared object with the toolchain of our program.
# usage: build.sh TARGET_DIR OUTPUT.so
# It needs three things more than our program: see README.md.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/versions.sh
source "$here/../../scripts/versions.sh"
target=$1 output=$2
mkdir -p "$target"
library=$target/library
if [ ! -e "$library/whole" ]; then
  rm -rf "$library"
  cp -r "$(rustc "+$RUST_SBF" --print sysroot)/lib/rustlib/src/rust/library" "$library"
  random=$library/std/src/hash/random.rs
  sed -i '/pub fn new() -> RandomState {/,/^    }$/c\    pub fn new() -> RandomState { RandomState { k0: 0, k1: 0 } }' "$random"
  grep -q '^    pub fn new() -> RandomState { RandomState { k0: 0, k1: 0 } }$' "$random" || {
    echo "$random is not as it was: RandomState::new was not replaced" >&2
    exit 1
  }
  touch "$library/whole"
fi
GOVERNANCE_LIBRARY=$library SBF_WRAPPER="$here/rustc-wrapper.sh" SBF_LLVM_ARGS=--inline-max-stacksize=256 \
  "$here/../sbf/build-sbf.sh" "$here" "$target" "$output"
