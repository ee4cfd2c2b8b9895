#!/usr/bin/env bash
# Plays the work of operators on a local market under load (gantry-localnet rehearsal). The next build of keepers, agents and
# customers is this checkout's with another version in it, and with a patch by which it reads models of a later layout too. The
# next build of the program is made from this checkout's sources and a patch by which models have that layout.
# usage: rehearsal.sh [surfnet|agave] [play|program]
#   program   builds the next build of the program, and nothing else
source "$(dirname "$0")/common.sh"
engine=${1:-surfnet} what=${2:-play}
patches=localnet/adversary/rehearsal/migration

# changed DIR PATCH FILE...: copies files of this checkout to DIR and patches them there.
changed() {
  local dir=$1 patch=$2
  shift 2
  rm -rf "$dir"
  mkdir -p "$dir"
  cp -r --parents "$@" "$dir"
  git apply --directory="$dir" "$patch" ||
    die "$patch does not fit the sources any more: patch them by hand, and put the difference into it"
}

# next_program FILE: builds the program with the later layout of models. What was built of the same sources is taken again.
next_program() {
  local dir=build/rehearsal/program sources built
  changed "$dir" "$patches/program.patch" program/src program/framework program/Cargo.toml program/Cargo.lock
  sources=$(find "$dir" program/sbf -type f -print0 | sort -z | xargs -0 sha256sum)
  built=$cache/rehearsal/$(key "$sources" "$RUST_SBF" "$SBPF_LINKER").so
  if [ ! -f "$built" ]; then
    "$root/scripts/toolchain.sh" sbf
    mkdir -p "$cache/rehearsal"
    cached_build "$(sbf_target)" "$dir/program program/sbf" "$root/program/sbf/build-sbf.sh" "$root/$dir/program" "$(sbf_target)" "$built"
  fi
  cp "$built" "$1"
}

# next_binary DIR PACKAGE...: builds packages with the patched sources in the place of the checkout's. They lie in a folder that
# ./... leaves out.
next_binary() {
  local into=$1 dir=build/rehearsal/_client
  shift
  changed "$dir" "$patches/client.patch" sdk/market/decode.go
  printf '{"Replace": {"%s": "%s"}}\n' "$root/sdk/market/decode.go" "$root/$dir/sdk/market/decode.go" >build/rehearsal/overlay.json
  mkdir -p "$into"
  go build -overlay build/rehearsal/overlay.json -ldflags '-X github.com/gantry-market/gantry/internal/version.release=next' -o "$into/" "$@"
}

cd "$root"
mkdir -p build/rehearsal
if [ "$what" = program ]; then
  next_program build/rehearsal/gantry_market.so
  exit
fi
"$root/scripts/build.sh" surfnet go
if [ "$engine" = agave ] && [ -z "$(validator)" ]; then
  die "solana-test-validator is not in PATH, in $cache/bin, or named by GANTRY_SOLANA_TEST_VALIDATOR"
fi
next_program build/rehearsal/gantry_market.so
next_binary build/next ./client/cmd/gantry ./keeper/cmd/gantry-keeper ./agent/cmd/gantry-agent
cp build/bin/gantry-shell build/next/
# What looks at the market meanwhile reads both layouts too.
next_binary build/rehearsal ./localnet/cmd/gantry-localnet
exec build/rehearsal/gantry-localnet rehearsal --engine "$engine" --next "$root/build/next" --next-program "$root/build/rehearsal/gantry_market.so"
