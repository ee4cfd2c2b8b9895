#!/usr/bin/env bash
# Builds the container images gantry, gantry-keeper, gantry-gateway and gantry-agent, each as an archive of an OCI layout, without a
# container engine. The same commit gives the same digests with the same Go, C compiler and C library.
# usage: images.sh [FOLDER] [PLATFORM | PLATFORM=PROGRAMS]...   into build/dist; without an argument for the platforms of GANTRY_PLATFORMS, or of this
#   machine
#   Programs in a folder that is named are taken from there, such as linux/amd64=build/programs; others are built here. The agent needs
#   the C library: it is made for this machine's architecture only.
source "$(dirname "$0")/common.sh"
# shellcheck source=scripts/release.sh
source "$root/scripts/release.sh"
cd "$root"
out=${1:-$root/build/dist}
[ $# = 0 ] || shift
release_platforms "$@"
release_version
host=linux/$(go env GOARCH)
mkdir -p "$out"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

# programs PLATFORM FOLDER PROGRAM...: puts programs into the stage: those of the folder, or new ones.
programs() {
  local platform=$1 built=$2 main name cgo
  shift 2
  for main in "$@"; do
    name=$(basename "$main") cgo=0
    [ "$name" != gantry-agent ] || cgo=1
    if [ -n "$built" ] && [ -x "$built/$name" ]; then
      cp "$built/$name" "$stage/$platform/"
    else
      release_program "$platform" "$cgo" "$main" "$stage/$platform/$name"
    fi
  done
}

# papers PLATFORM NAME PROGRAM...: the licences of an image, for its programs in the stage. The page of `gantry serve` is in gantry.
papers() {
  local folder=$stage/$1 name=$2 page=()
  shift 2
  [ "$name" != gantry ] || page=(-- web/static/fonts/OFL.txt web/static/*/uplot.txt)
  "$stage/licences" "${@/#/$folder/}" "${page[@]}" >"$folder/$name.licences.txt"
}

go build -o "$stage/" ./packaging/images ./scripts/licences
all=() with_agent=()
for platform in "${platforms[@]}"; do
  built= && [ "${platform#*=}" = "$platform" ] || built=${platform#*=}
  platform=${platform%%=*}
  case $platform in linux/*) ;; *) continue ;; esac
  step "programs for $platform"
  mkdir -p "$stage/$platform"
  programs "$platform" "$built" client/cmd/gantry keeper/cmd/gantry-keeper gateway/cmd/gantry-gateway packaging/images/healthy
  cp LICENSE "$stage/$platform/"
  papers "$platform" gantry gantry
  papers "$platform" gantry-keeper gantry-keeper healthy
  papers "$platform" gantry-gateway gantry-gateway healthy
  all+=("$platform=$stage/$platform")
  [ "$platform" = "$host" ] || continue
  programs "$platform" "$built" agent/cmd/gantry-agent agent/cmd/gantry-shell
  "$root/scripts/toolchain.sh" sandbox
  cp "$tools/runsc" "$stage/$platform/"
  # What the agent is linked with, and what NVIDIA's libraries want that the machine gives a container.
  loader=$(ldd "$stage/$platform/gantry-agent" | awk '$1 ~ /^\/.*ld-linux/ {print $1}')
  libc=$(ldd "$stage/$platform/gantry-agent" | awk '$1 == "libc.so.6" {print $3}')
  [ -n "$loader" ] && [ -n "$libc" ] || die "the agent is not linked with the C library of this machine: ldd $stage/$platform/gantry-agent"
  for library in "$loader" "$libc" "$(dirname "$libc")"/lib{m.so.6,dl.so.2,pthread.so.0,rt.so.1,resolv.so.2}; do
    mkdir -p "$stage/$platform/root$(dirname "$library")" && cp -L "$library" "$stage/$platform/root$library"
  done
  mkdir -p "$stage/$platform/root/usr/share/doc/libc6"
  [ ! -f /usr/share/doc/libc6/copyright ] || cp -L /usr/share/doc/libc6/copyright "$stage/$platform/root/usr/share/doc/libc6/"
  papers "$platform" gantry-agent gantry-agent gantry-shell runsc healthy
  with_agent+=("$platform=$stage/$platform")
done
[ ${#all[@]} -gt 0 ] || die "no platform has images: they are for linux"

step "images $VERSION"
for name in gantry gantry-keeper gantry-gateway; do "$stage/images" "$out" "$VERSION" "$SOURCE_DATE_EPOCH" "$name" "${all[@]}"; done
if [ ${#with_agent[@]} -gt 0 ]; then
  "$stage/images" "$out" "$VERSION" "$SOURCE_DATE_EPOCH" gantry-agent "${with_agent[@]}"
else
  say "no image of the agent: this machine is $host"
fi
