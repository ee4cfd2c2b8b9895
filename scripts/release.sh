# What packages, wheels and images share: the version of this checkout, and how a program of it is built. Sourced, never run.
# shellcheck shell=bash

# release_version sets VERSION, unless the caller has, and the time that files get.
release_version() {
  have git && git rev-parse -q --verify HEAD >/dev/null || die "what is installed is built from a git checkout: its version is the commit"
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
  if [ -z "${VERSION:-}" ]; then
    VERSION=$(git describe --tags --exact-match --match 'v*' 2>/dev/null | sed 's/^v//' || true)
    [ -n "$VERSION" ] || VERSION=0~git$(TZ=UTC git log -1 --format=%cd.%h --abbrev=12 --date=format-local:%Y%m%d%H%M%S)
    [ -z "$(git status --porcelain)" ] || VERSION+=+changed
  fi
  export SOURCE_DATE_EPOCH VERSION
}

# release_platforms [PLATFORM]...: sets platforms: the arguments, GANTRY_PLATFORMS, or that of this machine.
# shellcheck disable=SC2034 # the caller reads platforms
release_platforms() {
  if [ $# -gt 0 ]; then platforms=("$@"); else read -ra platforms <<<"${GANTRY_PLATFORMS:-linux/$(go env GOARCH)}"; fi
}

# release_program PLATFORM CGO MAIN FILE: builds a program, such as linux/amd64 0 client/cmd/gantry, into a file, or into
# a folder whose name ends with a slash.
release_program() {
  GOOS=${1%/*} GOARCH=${1#*/} CGO_ENABLED=$2 CGO_CFLAGS="-O2 -g0" go build -trimpath \
    -ldflags "-s -w -buildid= -extldflags=-Wl,--build-id=none -X github.com/gantry-market/gantry/internal/version.release=$VERSION" -o "$4" "./$3"
}
