#!/bin/sh
# Before the package is removed, not before an upgrade: an upgrade starts the service again once the new files are there.
set -e
[ "$1" = remove ] || exit 0
if [ -d /run/systemd/system ]; then systemctl disable --now "${DPKG_MAINTSCRIPT_PACKAGE:?}.service"; fi
