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

"$root/scripts/toolchain.sh" go
[ "$engine" = agave ] || "$root/scripts/toolchain.sh" host
# Containers are shown where they can be; where they cannot, the demo says why and runs processes.
if [ "$(id -u)" = 0 ]; then
  "$root/scripts/toolchain.sh" sandbox ssh || say "the demo runs without what could not be installed"
fi
[ -f "$root/program/artifacts/gantry_market.so" ] || die "program/artifacts/gantry_market.so is missing; restore it with git, or run 'make program'"

parts=(go)
if [ "$engine" = surfnet ]; then
  parts=(surfnet go)
  if [ -x "$root/build/bin/gantry-surfnet" ] || [ -d "$(surfnet_target)" ]; then
    say "building what has changed (seconds), then running the demo (about two minutes)"
  else
    say "first run: the embedded engine is built once (about 10 minutes on two cores, cached in $cache),
then the binaries (about a minute), then the demo runs (about two minutes)"
  fi
else
  say "building the binaries (a minute on the first run, then seconds), then running the demo (about three minutes)"
fi
"$root/scripts/build.sh" "${parts[@]}"

cd "$root"
exec build/bin/gantry-localnet demo --engine "$engine" "$@"
