#!/usr/bin/env bash
# Sets up everything that the demo needs and runs it. usage: demo.sh surfnet|agave [arguments of `gantry-localnet demo`]
source "$(dirname "$0")/common.sh"
engine=${1:-surfnet}
[ $# = 0 ] || shift

case $engine in
  surfnet) ;;
  agave)
    found=$(validator)
    [ -n "$found" ] || die "the engine 'agave' needs solana-test-validator in PATH, in $cache/bin, or named by GANTRY_SOLANA_TEST_VALIDATOR.
It comes with the Agave tools (https://docs.anza.xyz/cli/install), or build it in about 30 minutes:
  sudo apt-get install -y libclang-dev protobuf-compiler libudev-dev libssl-dev pkg-config
  cargo +$RUST_HOST install agave-validator --version $AGAVE --bin solana-test-validator --locked --root $cache"
    say "engine: $("$found" --version)"
    ;;
  *) die "unknown engine '$engine': want surfnet or agave" ;;
esac

[ -f "$root/program/artifacts/gantry_market.so" ] || die "program/artifacts/gantry_market.so is missing; restore it with git, or run 'make program'"
"$root/scripts/toolchain.sh" go

# The engine and the rest are built at the same time: the engine alone leaves a third of two processors idle.
if [ "$engine" = surfnet ]; then
  "$root/scripts/toolchain.sh" host
  if [ -x "$root/build/bin/gantry-surfnet" ] || [ -d "$(surfnet_target)" ]; then
    say "building what has changed (seconds), then running the demo (about a minute)"
  else
    say "first run: the embedded engine is built once (7 to 16 minutes on two cores, cached in $cache),
gVisor and the binaries at the same time; then the demo runs (about a minute)"
  fi
  set -m # so that it has a process group, and ends with this script
  "$root/scripts/build.sh" surfnet &
  building=$!
  set +m
  trap 'kill -- "-$building" 2>/dev/null || true' EXIT
else
  say "building the binaries (a minute on the first run, then seconds), then running the demo (about a minute)"
fi
# Containers are shown where they can be; where they cannot, the demo says why and runs processes.
if [ "$(id -u)" = 0 ]; then
  "$root/scripts/toolchain.sh" sandbox ssh || say "the demo runs without what could not be installed"
fi
"$root/scripts/build.sh" go
if [ "$engine" = surfnet ]; then
  wait "$building" || die "the embedded engine could not be built"
  trap - EXIT
fi

cd "$root"
exec build/bin/gantry-localnet demo --engine "$engine" "$@"
