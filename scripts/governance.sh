#!/usr/bin/env bash
# Puts SPL Governance, with which holders of the stake token govern a market, into build/bin/spl_governance.so. Tests find it there.
# usage: governance.sh
# It is built once, in the cache, from a crate that program/governance/Cargo.lock pins by its checksum, and compared with the checksum in
# versions.sh.
source "$(dirname "$0")/common.sh"
sources=program/governance
target=$cache/governance/$(key "$root/$sources/Cargo.lock" "$RUST_SBF" "$SBPF_LINKER")
built=$target/spl_governance.so

whole() { [ -f "$built" ] && [ "$(sha256sum "$built" | cut -c1-64)" = "$GOVERNANCE_SHA256" ]; }

if ! whole; then
  "$root/scripts/toolchain.sh" sbf
  say "building SPL Governance, once: two to four minutes on two cores, then cached in $cache"
  cached_build "$target" "$sources program/sbf" "$root/$sources/build.sh" "$target" "$built"
  whole || die "SPL Governance came out with another checksum, $(sha256sum "$built" | cut -c1-64), than scripts/versions.sh names"
fi
put_bin "$built" spl_governance.so
