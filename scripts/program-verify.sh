#!/usr/bin/env bash
# Builds the program once more in a place that shares nothing with this checkout's builds, and compares it with the
# committed binary: another path, home, CARGO_HOME and target directory, another user name, locale and time zone, another umask,
# one job at a time, an environment of nothing else, and as root another user, host name and clock of files.
# usage: program-verify.sh [COMMIT]
#   PROGRAM_VERIFY_FRESH=1  installs the compiler and builds the linker anew too, instead of using those that are there
# The sources are those of the commit (HEAD), not of the working tree. It takes some minutes, with fresh tools about fifteen.
source "$(dirname "$0")/common.sh"
commit=$(git -C "$root" rev-parse --verify "${1:-HEAD}^{commit}") || die "no commit ${1:-HEAD}"
have unshare || die "unshare of util-linux is needed"
[ -n "${PROGRAM_VERIFY_FRESH:-}" ] || "$root/scripts/toolchain.sh" sbf

# A path of another length than any checkout's, with a blank in it.
place=$(mktemp -d "${TMPDIR:-/tmp}/program verify of some other path.XXXXXX")
cleanup() { rm -rf "$place"; }
trap cleanup EXIT
mkdir -p "$place/home" "$place/sources/of/the/program" "$place/target"
git -C "$root" archive "$commit" program scripts | tar -x -C "$place/sources/of/the/program" --mtime=@1000000000
find "$place/sources" -exec touch --no-dereference --date=@1000000000 {} +

rustup_home=${RUSTUP_HOME:-$HOME/.rustup} path=$PATH
if [ -n "${PROGRAM_VERIFY_FRESH:-}" ]; then
  # Compiler and linker in the new home: of the tools that are there, rustup alone is found, by the names that it answers to.
  have rustup || die "rustup is needed: https://rustup.rs"
  rustup_home=$place/home/rustup path=$place/home/cache/tools/bin:$place/bin:/usr/local/bin:/usr/bin:/bin
  mkdir "$place/bin"
  for name in rustup cargo rustc; do ln -s "$(command -v rustup)" "$place/bin/$name"; done
fi

# The builder's environment, in which nothing of this one is left but the tools.
builder() {
  env -i PATH="$path" HOME="$place/home" CARGO_HOME="$place/home/cargo elsewhere" RUSTUP_HOME="$rustup_home" \
    GANTRY_CACHE="$place/home/cache" USER=somebody LOGNAME=somebody LANG=tr_TR.UTF-8 LC_ALL=C.UTF-8 TZ=Pacific/Kiritimati \
    TERM=dumb CARGO_BUILD_JOBS=1 SOURCE_DATE_EPOCH=1 "$@"
}
build() {
  umask 0077
  local sources="$place/sources/of/the/program"
  if [ -n "${PROGRAM_VERIFY_FRESH:-}" ]; then builder "$sources/scripts/toolchain.sh" sbf || return; fi
  if [ "$(id -u)" = 0 ]; then
    # A host name and a process table of its own.
    builder unshare --uts --pid --fork --mount-proc bash -c 'hostname elsewhere && exec "$@"' build \
      "$sources/program/sbf/build-sbf.sh" "$sources/program" "$place/target" "$place/built.so"
  else
    builder "$sources/program/sbf/build-sbf.sh" "$sources/program" "$place/target" "$place/built.so"
  fi
}

step "the program of commit ${commit:0:12}, built in $place"
log=$root/build/logs/program-verify.log
(build) >"$log" 2>&1 || {
  tail -30 "$log" >&2
  die "the program could not be built there; all of the log: build/logs/program-verify.log"
}
git -C "$root" show "$commit:program/artifacts/gantry_market.so" >"$place/committed.so"
built=$(sha256sum <"$place/built.so" | cut -d' ' -f1)
committed=$(sha256sum <"$place/committed.so" | cut -d' ' -f1)
printf 'committed  %s\nbuilt      %s\n' "$committed" "$built"
if [ "$built" != "$committed" ]; then
  cp "$place/built.so" "$root/build/program-verify.so"
  die "the bytes differ, in $(cmp -l "$place/built.so" "$place/committed.so" 2>/dev/null | wc -l) places; the other build is build/program-verify.so"
fi
say "equal: the committed program is what these sources give there too"
