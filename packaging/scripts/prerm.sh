#!/bin/sh
# Before the package is removed, not before an upgrade: an upgrade starts the service again once the new files are there.
# scripts/dist.sh puts the package's name into the copy of each package.
set -e
name=
case $1 in
  remove | 0) ;; # dpkg, and rpm, which says how many versions stay
  *) exit 0 ;;
esac
services=$name.service
if [ "$name" = gantry-keeper ]; then services="$services gantry-signer.service"; fi
if [ -d /run/systemd/system ]; then
  # shellcheck disable=SC2086
  systemctl disable --now $services
fi
