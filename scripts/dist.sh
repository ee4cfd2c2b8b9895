#!/usr/bin/env bash
# Builds what people install into build/dist: packages of Debian and of RPM, archives and Python wheels (the command gantry for six
# platforms), container images, the bill of materials and the licences of each program, how all were built (provenance.json), SHA256SUMS of all, and
# the install script. The same commit gives the same bytes, wherever the checkout lies.
#
# GoReleaser does not make less of this script: its free edition packs only what it has built. The agent (with C), runsc, the man page, the
# licences and bills of materials of what was linked, and versions without a tag would each be a script that it calls. It has 370 modules.
#
# GANTRY_SIGN_KEY=FILE signs SHA256SUMS with minisign; FILE is the secret key of the release. GANTRY_DOWNLOAD=URL, where the files will
# be, writes a Homebrew formula, too. GANTRY_PLATFORMS="linux/amd64 windows/arm64" builds gantry for these alone, beside this system.
source "$(dirname "$0")/common.sh"
# shellcheck source=scripts/release.sh
source "$root/scripts/release.sh"
cd "$root"
[ -z "${GANTRY_SIGN_KEY:-}" ] || [ -f "$GANTRY_SIGN_KEY" ] || die "GANTRY_SIGN_KEY names $GANTRY_SIGN_KEY, which is not a file"
case ${GANTRY_DOWNLOAD:-https://} in
  https://*) ;;
  *) die "GANTRY_DOWNLOAD is $GANTRY_DOWNLOAD: Homebrew downloads by https:// only" ;;
esac
"$root/scripts/toolchain.sh" sandbox dist clients
[ -e "$(clients_venv)/whole" ] || die "the wheels need Python 3.11 with venv, and npm: see above"

unset VERSION # it is that of the checkout
release_version
ARCH=$(go env GOARCH)
export ARCH
out=$root/build/dist
rm -rf "$out" && mkdir -p "$out/bin/tools"
read -ra platforms <<<"${GANTRY_PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64}"
case " ${platforms[*]} " in *" linux/$ARCH "*) ;; *) platforms+=("linux/$ARCH") ;; esac

step "programs $VERSION"
# The agent alone is linked with the C library: it opens NVIDIA's own (NVML, CUDA) with it.
release_program "linux/$ARCH" 1 agent/cmd/gantry-agent "$out/bin/"
for main in agent/cmd/gantry-shell keeper/cmd/gantry-keeper gateway/cmd/gantry-gateway; do release_program "linux/$ARCH" 0 "$main" "$out/bin/"; done
for platform in "${platforms[@]}"; do release_program "$platform" 0 client/cmd/gantry "$out/bin/${platform/\//-}/"; done
cp "$out/bin/linux-$ARCH/gantry" "$tools/runsc" "$out/bin/"
"$out/bin/gantry" man | gzip -9n >"$out/bin/gantry.1.gz"

# papers FOLDER NAME PROGRAM...: the bill of materials and the licences of a package, for its programs in a folder. The page of `gantry
# serve` is in gantry.
papers() {
  local folder=$1 name=$2 program page=()
  shift 2
  [ "$name" != gantry ] || page=(-- web/static/fonts/OFL.txt web/static/*/uplot.txt)
  (cd "$folder" && for program in "$@"; do
    case $program in gantry-shell) ;; *) "$out/bin/tools/sbom" "$program" >"${program%.exe}.cdx.json" ;; esac
  done)
  "$out/bin/tools/licences" "${@/#/$folder/}" "${page[@]}" >"$folder/$name.licences.txt"
}
step "bills of materials and licences"
go build -o "$out/bin/tools/" ./scripts/sbom ./scripts/licences ./scripts/provenance
papers "$out/bin" gantry-agent gantry-agent gantry-shell runsc
papers "$out/bin" gantry-keeper gantry-keeper
papers "$out/bin" gantry-gateway gantry-gateway
for platform in "${platforms[@]}"; do
  folder=$out/bin/${platform/\//-}
  papers "$folder" gantry "$(cd "$folder" && ls)"
done
cp "$out/bin/linux-$ARCH/gantry.cdx.json" "$out/bin/linux-$ARCH/gantry.licences.txt" "$out/bin/"
cp "$out"/bin/*.cdx.json "$out/"

step "packages"
for name in gantry-agent gantry-keeper gantry-gateway; do
  for script in postinst prerm; do
    sed "s/^name=.*/name=$name/" "packaging/scripts/$script.sh" >"$out/bin/$name.$script.sh"
  done
done
for name in gantry gantry-agent gantry-keeper gantry-gateway; do
  nfpm package --config "packaging/$name.yaml" --packager deb --target "$out/${name}_${VERSION}_$ARCH.deb" >&2
  nfpm package --config "packaging/$name.yaml" --packager rpm --target "$out/$name-$VERSION-1.$(uname -m).rpm" >&2
done

# archive FOLDER SYSTEM-PROCESSOR NAME FILE...: the files of a program that lie in a folder.
archive() {
  local folder=$1 platform=$2 name=$3 top=$3-$VERSION-$2 stage file
  shift 3
  stage=$(mktemp -d)
  mkdir "$stage/$top"
  for file in "$@"; do cp "$folder/$file" "$stage/$top/"; done
  cp LICENSE "$folder/$name.cdx.json" "$stage/$top/"
  cp "$folder/$name.licences.txt" "$stage/$top/THIRD-PARTY-LICENSES.txt"
  [ ! -f "packaging/systemd/$name.service" ] || cp "packaging/systemd/$name.service" "$stage/$top/"
  chmod -R u+rwX,go+rX,go-w "$stage/$top"
  find "$stage/$top" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
  case $platform in
    windows-*) (cd "$stage" && find "$top" -type f | LC_ALL=C sort | TZ=UTC zip -9qX "$out/$top.zip" -@) ;;
    *) tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$top" | gzip -9n >"$out/$top.tar.gz" ;;
  esac
  rm -rf "$stage"
}
step "archives"
archive "$out/bin" "linux-$ARCH" gantry-agent gantry-agent gantry-shell runsc runsc.cdx.json
archive "$out/bin" "linux-$ARCH" gantry-keeper gantry-keeper
archive "$out/bin" "linux-$ARCH" gantry-gateway gantry-gateway
for platform in "${platforms[@]}"; do
  folder=$out/bin/${platform/\//-}
  case $platform in
    windows/*) archive "$folder" "${platform/\//-}" gantry gantry.exe ;;
    *) cp "$out/bin/gantry.1.gz" "$folder/" && archive "$folder" "${platform/\//-}" gantry gantry gantry.1.gz ;;
  esac
done

wheels=() images=("linux/$ARCH=$out/bin")
for platform in "${platforms[@]}"; do
  folder=$out/bin/${platform/\//-}
  case $platform in windows/*) wheels+=("$platform=$folder/gantry.exe") ;; *) wheels+=("$platform=$folder/gantry") ;; esac
  case $platform in "linux/$ARCH") ;; linux/*) images+=("$platform=$folder") ;; esac
done
"$root/scripts/wheels.sh" "$out" "${wheels[@]}"
"$root/scripts/images.sh" "$out" "${images[@]}"

cp packaging/install.sh "$out/"
(cd "$out" && LC_ALL=C shopt -s nullglob && sha256sum -- *.deb *.rpm *.tar.gz *.zip *.whl *.oci.tar *.cdx.json install.sh >SHA256SUMS &&
  bin/tools/provenance -commit "$(git rev-parse HEAD)" -version "$VERSION" "${platforms[@]}" <SHA256SUMS >provenance.json && sha256sum provenance.json >>SHA256SUMS)
rm -rf "${out:?}/bin"
[ -z "${GANTRY_DOWNLOAD:-}" ] || packaging/formula.sh "$out/SHA256SUMS" "$GANTRY_DOWNLOAD" >"$out/gantry.rb"
[ -z "${GANTRY_SIGN_KEY:-}" ] || minisign -S -s "$GANTRY_SIGN_KEY" -t "gantry $VERSION" -m "$out/SHA256SUMS" >&2 ||
  die "SHA256SUMS was not signed with $GANTRY_SIGN_KEY"
(cd "$out" && ls -sh1) >&2
say "packages, wheels and images of $VERSION are in build/dist"
