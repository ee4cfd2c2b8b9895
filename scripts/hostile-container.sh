#!/usr/bin/env bash
# Attacks the machine by images and from containers. What needs a network runs in namespaces of its own, so that nothing of
# this machine's is changed.
# Needs Linux and root; prints what is skipped and why. usage: hostile-container.sh
source "$(dirname "$0")/common.sh"
"$root/scripts/toolchain.sh" go sandbox
cd "$root"
# As with make test, which runs these tests too; here they print what the containers were answered.
exec go test -count=1 -v -run '^TestHostile' ./agent/image ./agent/network ./agent/runtime
