#!/usr/bin/env bash
# Prints the Homebrew formula of a release: the archives of gantry that its SHA256SUMS names, at the URL where its files are.
# usage: formula.sh SHA256SUMS URL
set -euo pipefail
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}
[ $# = 2 ] || die "usage: formula.sh SHA256SUMS URL"
sums=$1 url=${2%/}
case $url in
  *[\"\\\#\ ]*) die "$url has characters that a formula cannot have" ;;
  https://*) ;;
  *) die "Homebrew downloads by https:// only, not from $url" ;;
esac

# one PLATFORM: the line of the archive of a platform.
one() {
  local lines
  lines=$(grep -E "^[0-9a-f]{64}  gantry-[0-9][^/ \"]*-$1\.tar\.gz\$" "$sums") || die "$sums names no archive of gantry for $1"
  [ "$(wc -l <<<"$lines")" = 1 ] || die "$sums names several archives of gantry for $1"
  printf '%s\n' "$lines"
}

# archive PLATFORM: where the archive is, and its checksum.
archive() {
  local line
  line=$(one "$1") || exit 1
  local name=${line#*  }
  # Some servers read + in a path as a space.
  printf '      url "%s/%s"\n      sha256 "%s"\n' "$url" "${name//+/%2B}" "${line%% *}"
}

version=$(one linux-amd64)
version=${version#*  gantry-} version=${version%-linux-amd64.tar.gz}
mac_arm=$(archive darwin-arm64)
mac_intel=$(archive darwin-amd64)
linux_arm=$(archive linux-arm64)
linux_intel=$(archive linux-amd64)
cat <<FORMULA
class Gantry < Formula
  desc "Rents GPUs on the Gantry market, and recomputes what was paid"
  homepage "https://github.com/gantry-market/gantry"
  version "$version"
  license "Apache-2.0"

  on_macos do
    on_arm do
$mac_arm
    end
    on_intel do
$mac_intel
    end
  end

  on_linux do
    on_arm do
$linux_arm
    end
    on_intel do
$linux_intel
    end
  end

  def install
    bin.install "gantry"
    man1.install "gantry.1.gz"
    doc.install "LICENSE", "THIRD-PARTY-LICENSES.txt", "gantry.cdx.json"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/gantry --version")
  end
end
FORMULA
