#!/bin/sh
# Before the package is removed, not before an upgrade: an upgrade starts the service again once the new files are there.
set -e
[ "$1" = remove ] || exit 0
name=${DPKG_MAINTSCRIPT_PACKAGE:?}
services=$name.service
if [ "$name" = gantry-keeper ]; then services="$services gantry-signer.service"; fi
if [ -d /run/systemd/system ]; then
  # shellcheck disable=SC2086
  systemctl disable --now $services
fi
