#!/usr/bin/env bash
# RUSTC_WRAPPER: what ../sbf/rustc-wrapper.sh does, and two things besides.
# The crate `std` is compiled from the patched copy. The governance crate is only a library: as a shared object of its own it has no
# functions for memory and does not link.
here=$(cd "$(dirname "$0")" && pwd)
kept=()
name= target= previous=
for arg in "$@"; do
  [ "$previous" = --crate-name ] && name=$arg
  case "$arg" in *sbpf-solana*) target=1 ;; esac
  previous=$arg
done
previous=
for arg in "$@"; do
  if [ -n "$target" ] && [ "$name" = governance ] && [ "$previous" = --crate-type ] && [ "$arg" = cdylib ]; then
    unset 'kept[-1]' # --crate-type, which stands before it
  elif [ -n "$target" ] && [ "$name" = std ] && [[ $arg == *std/src/lib.rs ]]; then
    kept+=("$GOVERNANCE_LIBRARY/std/src/lib.rs")
  else
    kept+=("$arg")
  fi
  previous=$arg
done
exec "$here/../sbf/rustc-wrapper.sh" "${kept[@]}"
