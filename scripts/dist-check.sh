#!/usr/bin/env bash
# Installs the packages of build/dist in a fresh Debian without a compiler, and uses them there as an owner of a machine would: doctor,
# setup, run until keepers have checked it, a job of a customer, an upgrade while the job runs. The market is a local network of
# this checkout; GPUs are simulated. The services do not run under systemd here: their units are verified, and the commands are
# run as the units run them. Linux, root.
source "$(dirname "$0")/common.sh"
cd "$root"
[ "$(id -u)" = 0 ] || die "a root file system is made: run it as root"
ls build/dist/*.deb >/dev/null 2>&1 || "$root/scripts/dist.sh"
have debootstrap || { apt-get update && apt-get install -y --no-install-recommends debootstrap; } >build/logs/apt.log 2>&1 ||
  die "debootstrap is missing: apt-get install debootstrap"
"$root/scripts/build.sh" surfnet go

begin=$SECONDS
work=$(mktemp -d /var/tmp/gantry-dist-XXXXXX)
fresh=$work/root
network=
# running PROGRAM: the processes of the fresh system, or those of one of its programs.
running() {
  local process
  for process in /proc/[0-9]*; do
    if [ "$(readlink "$process/root")" = "$fresh" ] && { [ $# = 0 ] || [ "$(tr '\0' ' ' <"$process/cmdline")" = "$* " ]; }; then
      echo "${process#/proc/}"
    fi
  done 2>/dev/null
}
finish() {
  local status=$? pid
  for pid in $(running); do kill -KILL "$pid" 2>/dev/null || true; done
  [ -z "$network" ] || { kill -INT "$network" && wait "$network"; } 2>/dev/null || true
  [ "$status" = 0 ] || tail -n 20 "$work"/*.log >&2
  umount "$fresh/proc" 2>/dev/null || true
  rm -rf --one-file-system "$work"
}
trap finish EXIT

# inside COMMAND: runs in the fresh system.
inside() { chroot "$fresh" /bin/sh -ec "$1"; }

# until_seen WHAT COMMAND: waits for it.
until_seen() {
  local left=120
  until eval "$2" >"$work/last.log" 2>&1; do
    ((left--)) || die "not seen within two minutes: $1"
    sleep 1
  done
  say "seen: $1"
}

step "a fresh Debian"
debootstrap --variant=minbase bookworm "$fresh" >"$work/debootstrap.log"
mount -t proc proc "$fresh/proc"
mkdir "$fresh/packages" && cp build/dist/*.deb "$fresh/packages/"
inside 'DEBIAN_FRONTEND=noninteractive; export DEBIAN_FRONTEND; apt-get -qq update; apt-get install -y --no-install-recommends /packages/*.deb' >"$work/install.log" 2>&1
! inside 'command -v gcc cc go' || die "there is a compiler"
inside 'systemd-analyze verify /lib/systemd/system/gantry-*.service'
for name in keeper gateway; do
  # Exposure of 0 to 10, times ten. The agent runs containers as root, and is not judged by it.
  inside "systemd-analyze security --no-pager --offline=true --threshold=20 /lib/systemd/system/gantry-$name.service" >"$work/security.log"
done
inside 'for p in gantry gantry-agent gantry-keeper gantry-gateway; do $p --version; done' >&2

step "a market"
build/bin/gantry-localnet up --state "$work/market" --agents 2 --customers 1 >"$work/network.log" 2>&1 &
network=$!
until_seen "the market is up" "grep -q '^ready after' '$work/network.log'"
rpc=$(sed -n 's/^rpc *//p' "$work/network.log") ws=$(sed -n 's/^ws *//p' "$work/network.log")
cp "$work/market/keys/provider-1.json" "$work/market/keys/customer-1.json" "$fresh/root/"

step "a machine joins it"
settings="--url $rpc --ws $ws --inventory simulated:A100:1"
# A machine that is not set up lacks at least its key: doctor says so, by its status too.
! inside "gantry-agent doctor $settings" >"$work/doctor-before.log" || die "doctor finds no error on a machine that is not set up"
grep -q 'gantry-agent setup\|gantry-agent init' "$work/doctor-before.log" || die "doctor does not say how a machine is set up: $(cat "$work/doctor-before.log")"
# Without answers it changes nothing and names the flags.
! inside "gantry-agent setup $settings </dev/null" >"$work/setup-unanswered.log" 2>&1 || die "setup goes on without a region"
grep -q -- --region "$work/setup-unanswered.log" || die "setup does not say what it must know: $(cat "$work/setup-unanswered.log")"
setup="gantry-agent setup $settings --keypair /root/provider-1.json --region us-west-2 --price 1.00 --hours always --yes"
# The fresh system has no control groups mounted: setup stops before anything is paid, and goes on where its owner says so.
! inside "$setup" >"$work/setup-checks.log" 2>&1 || die "setup goes on without control groups"
grep -q 'mend cgroups .*nothing was paid' "$work/setup-checks.log" || die "setup does not say what is missing: $(cat "$work/setup-checks.log")"
inside "$setup --accept cgroups" >&2
inside "$setup --accept cgroups" >"$work/setup-again.log"
grep -q 'nothing has changed' "$work/setup-again.log" || die "setup does not see that it is done: $(cat "$work/setup-again.log")"
inside "gantry-agent doctor $settings" >"$work/doctor-after.log" || true
[ "$(grep -c '^ *error ' "$work/doctor-after.log")" = 1 ] && grep -q '^ *error *cgroups' "$work/doctor-after.log" ||
  die "doctor finds other errors than the missing control groups: $(cat "$work/doctor-after.log")"
# As its unit does: jobs are children of their own supervisors, and outlive it.
run() {
  GANTRY_DATA_DIR=/var/lib/gantry-agent chroot "$fresh" gantry-agent run --no-lease-network >>"$work/agent.log" 2>&1 &
}
run
until_seen "keepers have checked it, and reported" "inside 'gantry-agent status' | grep -E '[1-9][0-9]* of [0-9]+ passed'"
say "from nothing to a machine that keepers have checked: $((SECONDS - begin)) s"

step "a customer's job on it, and an upgrade meanwhile"
# The next version differs in every program: a byte after the end of each.
mkdir "$work/next" && dpkg-deb -R build/dist/gantry-agent_*.deb "$work/next/agent"
sed -i 's/^Version: .*/&+next/' "$work/next/agent/DEBIAN/control"
for program in gantry-agent gantry-shell runsc; do printf '\0' >>"$work/next/agent/usr/lib/gantry/$program"; done
(cd "$work/next/agent" && find usr -type f -exec md5sum {} + >DEBIAN/md5sums)
dpkg-deb -Zgzip -b "$work/next/agent" "$fresh/packages/next.deb" >/dev/null
customer="gantry --url $rpc --ws $ws --keypair /root/customer-1.json"
inside "$customer credits add 5 --yes >/dev/null"
inside "$customer deploy --gpu A100 --max-price 1.10 --duration 10m --allow-simulated --run-to-completion --yes -- sh -c 'date +\"began at %s\"; sleep 25; echo ended'" >"$work/job.log" 2>&1 &
job=$!
until_seen "the job runs" "grep -q '^began at' '$work/job.log'"
inside 'dpkg -i /packages/next.deb' >"$work/upgrade.log" 2>&1
before=$(running gantry-agent run --no-lease-network)
kill -TERM "$before" # what systemctl try-restart does
until_seen "the agent of the previous version has stopped" "[ ! -d /proc/$before ]"
run
wait "$job" || die "the job did not survive the upgrade"
[ "$(grep -c '^began at' "$work/job.log")" = 1 ] && grep -q '^ended$' "$work/job.log" || die "the job did not run once, from its start to its end: $(cat "$work/job.log")"
until_seen "the machine is checked after the upgrade" "inside 'gantry-agent status' | grep -E 'agent +up'"
say "packages work: $((SECONDS - begin)) s in all"
