#!/bin/sh
# Installs the command gantry on Linux, on macOS, and on Windows in Git Bash or MSYS2. It downloads the archive for this
# system, compares its checksum with SHA256SUMS of the same place, and installs nothing unless they agree.
#
# usage: install.sh [--from URL|FOLDER] [--prefix FOLDER] [--key KEY|FILE]
#   --from    URL or folder with the files of one release; or GANTRY_DOWNLOAD. It has no default until the first release.
#   --prefix  folder to install into: FOLDER/bin and FOLDER/share (default: ~/.local)
#   --key     the public key of the release, or a file with it; or GANTRY_PUBLIC_KEY. Then the signature of SHA256SUMS is verified, too,
#             with minisign.
#
# The last line calls main, so a script that was downloaded only in part does nothing.
set -eu

say() { printf '%s\n' "$*"; }
die() {
  printf 'error: %s\n' "$*" >&2
  printf 'Nothing was installed.\n' >&2
  exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# value FLAG VALUE...: fails where a flag has no value.
value() { if [ -z "${2:-}" ]; then die "$1 needs a value"; fi; }

read_arguments() {
  from=${GANTRY_DOWNLOAD:-} prefix='' key=${GANTRY_PUBLIC_KEY:-}
  while [ $# -gt 0 ]; do
    case $1 in
      --from) value "$@" && from=$2 && shift ;;
      --prefix) value "$@" && prefix=$2 && shift ;;
      --key) value "$@" && key=$2 && shift ;;
      -h | --help)
        say "usage: install.sh [--from URL|FOLDER] [--prefix FOLDER] [--key KEY|FILE]"
        exit 0
        ;;
      *) die "unknown argument $1; the usage is: install.sh [--from URL|FOLDER] [--prefix FOLDER] [--key KEY|FILE]" ;;
    esac
    shift
  done
  [ -n "$from" ] || die "no place to download from: nothing of Gantry was released yet. Name the place of your files: --from URL, --from FOLDER or GANTRY_DOWNLOAD (a checkout's make dist writes build/dist)"
  from=${from%/}
  if [ -z "$prefix" ]; then
    [ -n "${HOME:-}" ] || die "HOME is not set: name a folder with --prefix"
    prefix=$HOME/.local
  fi
  case $from in
    https://* | http://127.0.0.1[:/]* | http://localhost[:/]* | http://127.0.0.1 | http://localhost) ;;
    http://*) [ -n "$key" ] || die "$from is not encrypted: use https://, or verify the signature with --key" ;;
    *) [ -d "$from" ] || die "$from is neither a folder nor a URL with https://" ;;
  esac
}

# find_platform sets the words by which archives name this system.
find_platform() {
  case $(uname -s) in
    Linux) system=linux ;;
    Darwin) system=darwin ;;
    MINGW* | MSYS* | CYGWIN*) system=windows ;;
    *) die "there is no gantry for $(uname -s)" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) processor=amd64 ;;
    aarch64 | arm64) processor=arm64 ;;
    *) die "there is no gantry for processors of type $(uname -m)" ;;
  esac
  suffix=tar.gz
  if [ "$system" = windows ]; then suffix=zip; fi
}

# fetch NAME: downloads a file of the release into the work folder.
fetch() {
  if [ -d "$from" ]; then
    [ -f "$from/$1" ] || die "there is no $1 in $from"
    cp "$from/$1" "$work/$1"
  elif have curl; then
    curl -fsSL --retry 2 -o "$work/$1" "$from/$1" || die "$from/$1 was not downloaded, or not whole"
  elif have wget; then
    wget -q -O "$work/$1" "$from/$1" || die "$from/$1 was not downloaded, or not whole"
  else
    die "curl or wget is needed to download files"
  fi
}

# checksum FILE: its sha256.
checksum() {
  if have sha256sum; then
    sha256sum "$1"
  elif have shasum; then
    shasum -a 256 "$1"
  else
    openssl dgst -sha256 -r "$1"
  fi | sed 's/^\\//; s/[^0-9a-f].*//'
}

verify_signature() {
  if [ -z "$key" ]; then
    say "The signature was not verified: no public key was given (--key)."
    return
  fi
  have minisign || die "minisign is needed to verify the signature (https://jedisct1.github.io/minisign); without --key only checksums are verified"
  fetch SHA256SUMS.minisig
  if [ -f "$key" ]; then set -- -p "$key"; else set -- -P "$key"; fi
  minisign -V -q "$@" -m "$work/SHA256SUMS" -x "$work/SHA256SUMS.minisig" >&2 || die "SHA256SUMS of $from was not signed by this key"
  say "The signature of SHA256SUMS is good."
}

# find_archive sets the archive of this system and its checksum: the one that SHA256SUMS names.
find_archive() {
  pattern="^[0-9a-f]\{64\} [ *]gantry-[0-9][^/ ]*-$system-$processor\.$suffix\$"
  line=$(grep -e "$pattern" "$work/SHA256SUMS") || die "$from has no gantry for $system-$processor. It has: $(sed -n 's/^[0-9a-f]* [ *]gantry-[0-9].*-\([a-z0-9]*-[a-z0-9]*\)\.[tz].*/\1/p' "$work/SHA256SUMS" | tr '\n' ' ')"
  [ "$(printf '%s\n' "$line" | wc -l)" -eq 1 ] || die "$from has several versions of gantry for $system-$processor; name the folder of one"
  archive=${line#*[ *][ *]} sum=${line%% *}
}

unpack() {
  mkdir "$work/unpacked"
  if [ "$suffix" = zip ]; then
    have unzip || die "unzip is needed to unpack $archive"
    unzip -q "$work/$archive" -d "$work/unpacked" || die "$archive cannot be unpacked"
  else
    tar -xzf "$work/$archive" -C "$work/unpacked" || die "$archive cannot be unpacked"
  fi
  top=$work/unpacked/${archive%".$suffix"} program=gantry
  if [ "$system" = windows ]; then program=gantry.exe; fi
  [ -f "$top/$program" ] || die "$archive has no $program"
  "$top/$program" --version >"$work/version" 2>&1 || die "the program of $archive does not run here: $(head -n 1 "$work/version")"
}

# put FILE FOLDER MODE: installs a file by a rename, so it is never half written.
put() {
  mkdir -p "$2" && cp "$1" "$2/.${1##*/}.new" && chmod "$3" "$2/.${1##*/}.new" && mv -f "$2/.${1##*/}.new" "$2/${1##*/}"
}

# install_all installs the program last: where that fails, nothing that runs was changed.
install_all() {
  for file in LICENSE THIRD-PARTY-LICENSES.txt gantry.cdx.json; do
    [ ! -f "$top/$file" ] || put "$top/$file" "$prefix/share/doc/gantry" 644 || cannot_write
  done
  [ ! -f "$top/gantry.1.gz" ] || put "$top/gantry.1.gz" "$prefix/share/man/man1" 644 || cannot_write
  put "$top/$program" "$prefix/bin" 755 || cannot_write
}
cannot_write() {
  printf 'error: %s cannot be written: choose another folder with --prefix, or run the script as a user that may write there\n' "$prefix" >&2
  printf 'The program was not installed.\n' >&2
  exit 1
}

main() {
  read_arguments "$@"
  find_platform
  have sha256sum || have shasum || have openssl || die "sha256sum, shasum or openssl is needed to verify files"
  work=$(mktemp -d) || die "no temporary folder can be made"
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  fetch SHA256SUMS
  verify_signature
  find_archive
  say "Downloading $archive"
  fetch "$archive"
  found=$(checksum "$work/$archive")
  [ "$found" = "$sum" ] || die "$archive is not the file that SHA256SUMS names: its checksum is ${found:-unknown}, and should be $sum. Try again; if it stays so, somebody has changed one of the two"
  unpack
  install_all
  say "Installed $prefix/bin/$program: $(head -n 1 "$work/version")"
  case :$PATH: in
    *":$prefix/bin:"*) ;;
    *) say "Add it to your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
  esac
  say "Next: gantry --help, then gantry credits show. To remove it, delete $prefix/bin/$program, $prefix/share/doc/gantry and $prefix/share/man/man1/gantry.1.gz."
}

main "$@"
