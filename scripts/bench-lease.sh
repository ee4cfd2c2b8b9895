#!/usr/bin/env bash
# Measures leases as containers, beside OpenSSH and iperf3. Needs Linux and root; fails and says why where it cannot run.
# usage: bench-lease.sh [arguments of `gantry-localnet bench-lease`]
source "$(dirname "$0")/common.sh"
"$root/scripts/toolchain.sh" go sandbox registry ssh peers
"$root/scripts/build.sh" surfnet go
cd "$root"
peer=()
[ ! -x "$tools/sshd" ] || peer=(--sshd "$tools/sshd")
exec build/bin/gantry-localnet bench-lease --report docs/reports/leases.md "${peer[@]}" "$@"
