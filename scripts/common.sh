# What the scripts share: places, messages, the cache. Sourced, never run.
# shellcheck shell=bash

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/versions.sh
source "$root/scripts/versions.sh"

# Slow artefacts live outside the checkout, keyed by lock file and toolchain, so that a second clone is fast.
cache=${GANTRY_CACHE:-$HOME/.cache/gantry}
tools=$cache/tools/bin
mkdir -p "$tools" "$root/build/bin" "$root/build/logs"
export GANTRY_CACHE=$cache
export PATH="$tools:$cache/bin:${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
# The pins name their toolchain; one set from outside would win over rust-toolchain.toml files.
unset RUSTUP_TOOLCHAIN
# Binaries, tests and linters share what Go compiles, whose cache tells builds with and without paths apart.
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-trimpath"
# NVML's binding names functions that its header calls deprecated: a hundred warnings about somebody else's code.
export CGO_CFLAGS="${CGO_CFLAGS:--O2 -g} -Wno-deprecated-declarations"
export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-auto}

say() { printf '%s\n' "$*" >&2; }
step() { printf '\n==> %s\n' "$*" >&2; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# key FILE_OR_WORD...: a short hash of the files' contents and of the words.
key() {
  local part
  for part in "$@"; do
    if [ -f "$part" ]; then cat "$part"; else printf '%s\n' "$part"; fi
  done | sha256sum | cut -c1-12
}

# Target directories of the Rust crates.
surfnet_target() { printf '%s/surfnet/%s' "$cache" "$(key "$root/localnet/surfnet/Cargo.lock" "$RUST_HOST")"; }
idl_target() { printf '%s/idl/%s' "$cache" "$(key "$root/program/tools/idl/Cargo.lock" "$RUST_HOST")"; }
sbf_target() { printf '%s/program/%s' "$cache" "$(key "$root/program/Cargo.lock" "$RUST_SBF" "$SBPF_LINKER")"; }
program_host_target() { printf '%s/program-host/%s' "$cache" "$(key "$root/program/Cargo.lock" "$RUST_SBF")"; }
program_tests_target() { printf '%s/program-tests/%s' "$cache" "$(key "$root/program/tests/Cargo.lock" "$RUST_HOST")"; }

# clients_venv: Python's virtual environment with what generates and tries the clients.
clients_venv() { printf '%s/clients-venv/%s' "$cache" "$(key "$root/clients/python/requirements.txt")"; }

# validator: the path of solana-test-validator, empty when it is not installed.
validator() {
  if [ -n "${GANTRY_SOLANA_TEST_VALIDATOR:-}" ]; then
    command -v "$GANTRY_SOLANA_TEST_VALIDATOR" || die "GANTRY_SOLANA_TEST_VALIDATOR names $GANTRY_SOLANA_TEST_VALIDATOR, which cannot be run"
  else
    command -v solana-test-validator || true
  fi
}

# hold TARGET_DIR COMMAND...: runs a command while no other checkout builds in a target directory that several share. What
# cached_build has built there is this checkout's until the command ends, so that it may be run or copied.
hold() {
  local target=$1
  shift
  if [ "${held:-}" = "$target" ]; then
    "$@"
    return
  fi
  mkdir -p "$target"
  (
    exec 9>"$target/.gantry-lock"
    flock -n 9 || {
      say "waiting for what uses $target"
      flock 9
    }
    held=$target
    "$@"
  )
}

# cached_build TARGET_DIR "CRATE_DIR ..." COMMAND...: runs a build command on crates of this checkout in a target
# directory that several checkouts share. Cargo identifies such crates by their name and judges by file times alone
# whether they have changed, so it would hand one checkout what another one built. Here the sources' contents decide, and
# the checkout's place, which tests have compiled in: when they differ from what was last built there, the files are
# touched, and cargo builds them.
cached_build() { hold "$1" build_held "$@"; }

# system_openssl: crates that link OpenSSL take the system's: building it takes a core two minutes for each of them.
system_openssl() {
  if pkg-config --exists openssl 2>/dev/null; then export OPENSSL_NO_VENDOR=1; fi
}

build_held() {
  local target=$1 crates=$2 sources command
  shift 2
  # shellcheck disable=SC2086
  sources=$(cd "$root" && { pwd && find $crates -name target -prune -o -type f -print0 | sort -z | xargs -0 sha256sum; } |
    sha256sum | cut -c1-16)
  command=$(key "$@")
  if [ "$(cat "$target/.gantry-last" 2>/dev/null)" != "$sources" ] ||
    [ "$(cat "$target/.gantry-$command" 2>/dev/null)" != "$sources" ]; then
    # shellcheck disable=SC2086
    (cd "$root" && find $crates -name target -prune -o -name '*.rs' -exec touch {} +)
  fi
  rm -f "$target/.gantry-last" "$target/.gantry-$command"
  system_openssl
  "$@" 9>&- || return # with its status; a caller may have switched off errexit
  printf '%s\n' "$sources" >"$target/.gantry-$command"
  printf '%s\n' "$sources" >"$target/.gantry-last"
}

# cached_test TARGET_DIR "CRATE_DIR ..." CRATE "CARGO_ARG ..." TEST_ARG...: builds a crate's tests as cached_build does, and
# runs them before another checkout can put its own in their place.
cached_test() { hold "$1" test_held "$@"; }

test_held() {
  local target=$1 crates=$2 crate=$3 cargo
  # shellcheck disable=SC2206
  cargo=(cargo "+$RUST_HOST" test --locked --target-dir "$target" $4)
  shift 4
  cached_build "$target" "$crates" in_dir "$crate" "${cargo[@]}" --no-run || return
  in_dir "$crate" "${cargo[@]}" -- "$@"
}

# debian PACKAGE...: installs packages as root, or says which command does.
debian() {
  local command="apt-get install -y --no-install-recommends $*"
  if [ "$(id -u)" = 0 ] && have apt-get; then
    say "installing $*"
    { apt-get update && DEBIAN_FRONTEND=noninteractive $command; } >"$root/build/logs/apt.log" 2>&1 ||
      die "'$command' failed, see build/logs/apt.log"
  elif have apt-get; then
    die "missing packages; install them with: sudo apt-get update && sudo $command"
  else
    die "missing tools; on Debian they come with the packages: $*"
  fi
}

# put_bin FILE NAME: copies an executable to build/bin. It is put in place by a rename: a copy onto a running one fails.
put_bin() {
  cp "$1" "$root/build/bin/.$2.new" && mv -f "$root/build/bin/.$2.new" "$root/build/bin/$2"
}

# in_dir DIR COMMAND...: runs a command in a directory of the checkout.
in_dir() {
  local dir=$root/$1
  shift
  (cd "$dir" && "$@")
}
