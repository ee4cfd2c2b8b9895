#!/usr/bin/env bash
# Reaches a machine behind a home router, through network namespaces: relaying and hole punching. Needs Linux and root;
# fails and says why where it cannot run. usage: nat.sh [arguments of `gantry-localnet nat`]
source "$(dirname "$0")/common.sh"
"$root/scripts/toolchain.sh" go
cd "$root"
go build -o build/bin/gantry-localnet ./localnet/cmd/gantry-localnet
exec build/bin/gantry-localnet nat "$@"
