#!/bin/sh
# After an installation or an upgrade. A service that runs is started again with the new program; jobs go on meanwhile. Nobody waits
# until it serves: the chain may be away.
set -e
[ "$1" = configure ] || exit 0
name=${DPKG_MAINTSCRIPT_PACKAGE:?}
services=$name.service
if [ "$name" = gantry-keeper ]; then services="gantry-signer.service $services"; fi
if [ -f "/usr/lib/sysusers.d/$name.conf" ]; then systemd-sysusers "$name.conf"; fi
if [ "$name" = gantry-agent ]; then install -d -m 0700 /var/lib/gantry-agent; fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  # shellcheck disable=SC2086
  if [ -n "$2" ]; then systemctl --no-block try-restart $services; else systemctl enable $services; fi
fi
