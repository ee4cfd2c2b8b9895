#!/bin/sh
# After an installation or an upgrade. A service that runs is started again with the new program; jobs go on meanwhile. Nobody waits
# until it serves: the chain may be away. scripts/dist.sh puts the package's name into the copy of each package.
set -e
name=
case $1 in
  configure) upgrade=${2:-} ;; # dpkg names the version that was there before, if any
  1) upgrade= ;;               # rpm says how many versions there are now
  [2-9]*) upgrade=yes ;;
  *) exit 0 ;;
esac
services=$name.service
if [ "$name" = gantry-keeper ]; then services="gantry-signer.service $services"; fi
if [ -f "/usr/lib/sysusers.d/$name.conf" ]; then systemd-sysusers "$name.conf"; fi
if [ "$name" = gantry-agent ]; then install -d -m 0700 /var/lib/gantry-agent; fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  # shellcheck disable=SC2086
  if [ -n "$upgrade" ]; then systemctl --no-block try-restart $services; else systemctl enable $services; fi
fi
