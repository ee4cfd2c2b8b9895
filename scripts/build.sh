#!/usr/bin/env bash
# Builds what runs on this machine into build/bin.
# usage: build.sh [surfnet] [go] [kubernetes]   the first two by default
#   kubernetes  the node of a Kubernetes cluster, a module of its own
source "$(dirname "$0")/common.sh"

build_surfnet() {
  "$root/scripts/toolchain.sh" host
  local target
  target=$(surfnet_target)
  [ -d "$target" ] || say "building the embedded engine for the first time: about 10 minutes on two cores, then cached in $cache"
  cached_build "$target" localnet/surfnet build_and_copy "$target"
}

build_and_copy() {
  in_dir localnet/surfnet cargo "+$RUST_HOST" build --release --locked --target-dir "$1" &&
    put_bin "$1/release/gantry-surfnet" gantry-surfnet
}

build_go() {
  "$root/scripts/toolchain.sh" go
  cd "$root"
  local main mains=()
  for main in client/cmd/gantry keeper/cmd/gantry-keeper agent/cmd/gantry-agent gateway/cmd/gantry-gateway localnet/cmd/gantry-localnet; do
    mains+=("./$main")
  done
  go build -o build/bin/ "${mains[@]}"
  # Other people's servers for the demo and tests: a module of its own.
  go build -C internal/testtool/program -o "$root/build/bin/gantry-testserver" ./server
  # Runs in containers of any image, so it may need no library.
  CGO_ENABLED=0 go build -ldflags '-s -w' -o build/bin/ ./agent/cmd/gantry-shell
}

build_kubernetes() {
  "$root/scripts/toolchain.sh" go
  go build -C "$root/integrations/kubernetes" -o "$root/build/bin/gantry-kubelet" ./cmd/gantry-kubelet
}

[ $# -gt 0 ] || set -- surfnet go
for part in "$@"; do
  case $part in
    surfnet | go | kubernetes) "build_$part" ;;
    *) die "unknown part $part: want surfnet, go or kubernetes" ;;
  esac
done
