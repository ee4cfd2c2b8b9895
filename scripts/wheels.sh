#!/usr/bin/env bash
# Builds the Python package gantry-market once for each platform, with the command gantry in it. The same commit gives the same bytes.
# usage: wheels.sh [FOLDER] [PLATFORM | PLATFORM=PROGRAM]...    into build/dist; without an argument for the platforms of GANTRY_PLATFORMS, or of this
#   machine
#   A program that is named was built already, such as linux/arm64=build/gantry; others are built here.
source "$(dirname "$0")/common.sh"
# shellcheck source=scripts/release.sh
source "$root/scripts/release.sh"
cd "$root"
out=${1:-$root/build/dist}
[ $# = 0 ] || shift
release_platforms "$@"

# tag PLATFORM: what pip calls it. The command is static, and needs what Go does: Linux 3.2, macOS 12, Windows 10.
tag() {
  case $1 in
    linux/amd64) echo manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64 ;;
    linux/arm64) echo manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64 ;;
    darwin/amd64) echo macosx_12_0_x86_64 ;;
    darwin/arm64) echo macosx_12_0_arm64 ;;
    windows/amd64) echo win_amd64 ;;
    windows/arm64) echo win_arm64 ;;
    *) die "no wheels for $1: scripts/wheels.sh knows linux, darwin and windows on amd64 and arm64" ;;
  esac
}

[ -d clients/python/gantry/core ] && [ -d clients/python/gantry/_sync ] || "$root/scripts/clients.sh" generate
python=$(clients_venv)/bin/python
release_version
# Python's order of versions: a build of no release comes before the release.
version=$(sed -E 's/^0~git([0-9]+)\.([0-9a-f]+)(\+changed)?$/0.1.0.dev\1+g\2\3/; s/\+changed/.changed/; s/(\.[0-9]+)\.changed$/\1+changed/' <<<"$VERSION")
mkdir -p "$out"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
go build -o "$stage/" ./scripts/sbom ./scripts/licences
for platform in "${platforms[@]}"; do
  program=${platform#*=} platform=${platform%%=*} name=gantry
  platform_tag=$(tag "$platform")
  step "wheel for $platform"
  case $platform in windows/*) name=gantry.exe ;; esac
  mkdir -p "$stage/$platform"
  if [ "$program" = "$platform" ]; then
    release_program "$platform" 0 client/cmd/gantry "$stage/$platform/$name"
  else
    install -m 0755 "$program" "$stage/$platform/$name"
  fi
  (cd "$stage/$platform" && "$stage/sbom" "$name" >gantry.cdx.json)
  "$stage/licences" "$stage/$platform/$name" -- web/static/fonts/OFL.txt web/static/*/uplot.txt >"$stage/$platform/gantry.licences.txt"
  GANTRY_WHEEL_VERSION=$version GANTRY_WHEEL_PROGRAM=$stage/$platform/$name GANTRY_WHEEL_PLATFORM=$platform_tag \
    "$python" -m build --no-isolation --wheel --outdir "$out" clients/python >build/logs/wheels.log 2>&1 || die "the wheel for $platform could not be built, see build/logs/wheels.log"
done
say "wheels of gantry-market $version are in $out"
