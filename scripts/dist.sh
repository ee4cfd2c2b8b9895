#!/usr/bin/env bash
# Builds what people install into build/dist: packages for Debian and Ubuntu, archives, the bill of materials of each program,
# and SHA256SUMS. The same commit gives the same bytes, wherever the checkout lies.
source "$(dirname "$0")/common.sh"
cd "$root"
have git && git rev-parse -q --verify HEAD >/dev/null || die "packages are built from a git checkout: their version is the commit"
"$root/scripts/toolchain.sh" sandbox dist

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
VERSION=$(git describe --tags --exact-match --match 'v*' 2>/dev/null | sed 's/^v//' || true)
[ -n "$VERSION" ] || VERSION=0~git$(TZ=UTC git log -1 --format=%cd.%h --abbrev=12 --date=format-local:%Y%m%d%H%M%S)
[ -z "$(git status --porcelain)" ] || VERSION+=+changed
ARCH=$(go env GOARCH)
export SOURCE_DATE_EPOCH VERSION ARCH
out=$root/build/dist
rm -rf "$out" && mkdir -p "$out/bin"

# The agent alone is linked with the C library: it opens NVIDIA's own (NVML, CUDA) with it.
program() { # CGO MAIN
  CGO_ENABLED=$1 CGO_CFLAGS="-O2 -g0" go build -trimpath -ldflags "-s -w -buildid= -extldflags=-Wl,--build-id=none -X github.com/gantry-market/gantry/internal/version.Build=$VERSION" -o "$out/bin/" "./$2"
}
step "programs $VERSION"
program 1 agent/cmd/gantry-agent
for main in agent/cmd/gantry-shell client/cmd/gantry keeper/cmd/gantry-keeper gateway/cmd/gantry-gateway; do program 0 "$main"; done
cp "$tools/runsc" "$out/bin/runsc"
"$out/bin/gantry" man | gzip -9n >"$out/bin/gantry.1.gz"
for name in gantry gantry-agent gantry-keeper gantry-gateway runsc; do
  go run ./scripts/sbom "$out/bin/$name" >"$out/$name.cdx.json"
done

step "packages"
for name in gantry gantry-agent gantry-keeper gantry-gateway; do
  nfpm package --config "packaging/$name.yaml" --packager deb --target "$out/${name}_${VERSION}_$ARCH.deb" >&2
done

# archive NAME PROGRAM...: for other systems.
archive() {
  local name=$1 top=$1-$VERSION-linux-$ARCH stage
  shift
  stage=$(mktemp -d)
  mkdir "$stage/$top"
  for program in "$@"; do cp "$out/bin/$program" "$stage/$top/"; done
  cp LICENSE "$out/$name.cdx.json" "$stage/$top/"
  [ ! -f "packaging/systemd/$name.service" ] || cp "packaging/systemd/$name.service" "$stage/$top/"
  tar -C "$stage" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w -cf - "$top" |
    gzip -9n >"$out/$top.tar.gz"
  rm -rf "$stage"
}
step "archives"
archive gantry gantry gantry.1.gz
archive gantry-agent gantry-agent gantry-shell runsc
archive gantry-keeper gantry-keeper
archive gantry-gateway gantry-gateway

rm -rf "$out/bin"
(cd "$out" && sha256sum -- *.deb *.tar.gz *.cdx.json >SHA256SUMS)
(cd "$out" && ls -sh1 -- *.deb *.tar.gz) >&2
say "packages of $VERSION are in build/dist"
