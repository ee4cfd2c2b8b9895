#!/usr/bin/env bash
# Looks the dependencies up in the databases of advisories: govulncheck for Go (only what the code calls counts),
# cargo-deny for Rust (deny.toml says what counts). It needs https://vuln.go.dev and
# https://github.com/RustSec/advisory-db.
# usage: advisories.sh [go] [rust]
source "$(dirname "$0")/common.sh"

advisories_go() {
  "$root/scripts/toolchain.sh" go
  local module
  for module in . internal/testtool/program scripts/plots packaging/compose packaging/helm integrations/kubernetes; do
    step "govulncheck $module"
    in_dir "$module" go run "golang.org/x/vuln/cmd/govulncheck@$GOVULNCHECK" ./... || failed+=("$module")
  done
}

advisories_rust() {
  "$root/scripts/toolchain.sh" host
  [ "$(cargo-deny --version 2>/dev/null)" = "cargo-deny $CARGO_DENY" ] ||
    cargo "+$RUST_HOST" install cargo-deny --version "$CARGO_DENY" --locked --force --root "$cache/tools"
  local crate
  for crate in program program/tests program/tools/idl localnet/surfnet clients/rust; do
    step "cargo-deny $crate"
    cargo-deny --manifest-path "$root/$crate/Cargo.toml" --locked check --config "$root/deny.toml" advisories || failed+=("$crate")
  done
}

failed=()
[ $# -gt 0 ] || set -- go rust
for part in "$@"; do
  case $part in
    go | rust) "advisories_$part" ;;
    *) die "unknown part $part: want go or rust" ;;
  esac
done
[ ${#failed[@]} = 0 ] || die "advisories, or no answer of their database, for: ${failed[*]}"
say "no advisory is about what is used here"
