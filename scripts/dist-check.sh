#!/usr/bin/env bash
# Installs the packages of build/dist in a fresh Debian without a compiler, and uses them there as an owner of a machine would: doctor,
# setup, run until keepers have checked it, a job of a customer, an upgrade while the job runs. Then a keeper of the market moves into
# it, with its key at a signer, and a gateway; both are upgraded, brought back, and tried with a build whose stores have another
# layout. Meanwhile a customer without root installs the command by the install script, from a server on this machine, and rents; then
# the wheel, whose command rents too, and whose module asks a server that the command runs. Then dnf installs the packages of RPM in a second system, which knows no
# other packages, and a customer rents there. The market is a local network of this checkout; GPUs are simulated. The services do
# not run under systemd here: their units are verified, and the commands are run as the units run them. Linux, root.
source "$(dirname "$0")/common.sh"
cd "$root"
[ "$(id -u)" = 0 ] || die "a root file system is made: run it as root"
# Releases are signed with the release key. This check uses a key of its own.
[ ! -f build/dist/SHA256SUMS.minisig ] || die "build/dist is signed: run make dist without GANTRY_SIGN_KEY for this check"
ls build/dist/*.deb build/dist/*.whl >/dev/null 2>&1 || GANTRY_PLATFORMS=linux/$(go env GOARCH) "$root/scripts/dist.sh"
missing=()
for program in curl openssl rpm dnf debootstrap; do have "$program" || missing+=("$program"); done
have busybox || missing+=(busybox-static)
[ ${#missing[@]} = 0 ] || debian "${missing[@]}"
"$root/scripts/build.sh" surfnet go
"$root/scripts/toolchain.sh" dist clients

begin=$SECONDS
work=$(mktemp -d /var/tmp/gantry-dist-XXXXXX)
fresh=$work/root
fedora=$work/fedora
network= server=
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
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  [ -z "$network" ] || { kill -INT "$network" && wait "$network"; } 2>/dev/null || true
  [ "$status" = 0 ] || tail -n 20 "$work"/*.log >&2
  umount "$fresh/proc" "$fedora/proc" 2>/dev/null || true
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

# ended PROGRAM...: ends a program of the fresh system as a restart of its service does, and waits.
ended() {
  local pid left=60
  for pid in $(running "$@"); do
    kill -TERM "$pid"
    while [ -d "/proc/$pid" ]; do ((left--)) || die "$* does not end"; sleep 0.5; done
  done
}

step "checksums"
for file in build/dist/*; do
  case $file in */SHA256SUMS | */gantry.rb) ;; *) grep -q "  ${file##*/}$" build/dist/SHA256SUMS || die "SHA256SUMS does not name $file" ;; esac
done
(cd build/dist && sha256sum --check --quiet SHA256SUMS) >&2
step "a fresh Debian"
debootstrap --variant=minbase bookworm "$fresh" >"$work/debootstrap.log"
chroot "$fresh" sh -ec 'apt-get -qq update; DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates e2fsprogs systemd' >>"$work/debootstrap.log" 2>&1
cp -a "$fresh" "$fedora"
mount -t proc proc "$fresh/proc"
mkdir "$fresh/packages" && cp build/dist/*.deb "$fresh/packages/"
inside 'DEBIAN_FRONTEND=noninteractive; export DEBIAN_FRONTEND; apt-get -qq update; apt-get install -y --no-install-recommends minisign python3-venv wget /packages/*.deb' >"$work/install.log" 2>&1
! inside 'command -v gcc cc go' || die "there is a compiler"
inside 'systemd-analyze verify /usr/lib/systemd/system/gantry-*.service'
for name in keeper signer gateway; do
  # Exposure of 0 to 10, times ten. The agent runs containers as root, and is not judged by it.
  inside "systemd-analyze security --no-pager --offline=true --threshold=20 /usr/lib/systemd/system/gantry-$name.service" >"$work/security.log"
done
inside 'for p in gantry gantry-agent gantry-keeper gantry-gateway; do $p --version; done' >&2

step "a market"
build/bin/gantry-localnet up --state "$work/market" --agents 2 --customers 2 >"$work/network.log" 2>&1 &
network=$!
until_seen "the market is up" "grep -q '^ready after' '$work/network.log'"
rpc=$(sed -n 's/^rpc *//p' "$work/network.log") ws=$(sed -n 's/^ws *//p' "$work/network.log")
cp "$work/market/keys/provider-1.json" "$work/market/keys/customer-1.json" "$fresh/root/"

step "a customer installs the command from a server"
release=$work/release
mkdir "$release" && cp build/dist/gantry-[0-9]*.tar.gz build/dist/install.sh build/dist/SHA256SUMS "$release/"
minisign -G -W -p "$fresh/packages/release.pub" -s "$work/release.key" >"$work/minisign.log"
minisign -S -s "$work/release.key" -m "$release/SHA256SUMS" >>"$work/minisign.log"
release_port=$((35000 + RANDOM % 1000))
busybox httpd -f -p "127.0.0.1:$release_port" -h "$release" &
server=$!
until_seen "the release is served" "curl -sf http://127.0.0.1:$release_port/SHA256SUMS"
inside 'useradd --create-home --user-group customer; chmod 644 /packages/release.pub'
install -m 0600 -o "$(inside 'id -u customer')" "$work/market/keys/customer-2.json" "$fresh/home/customer/wallet.json"
# as_customer COMMAND [SYSTEM]: as a person on the fresh system, or another, who is not root.
as_customer() { chroot "${2:-$fresh}" setpriv --reuid=customer --regid=customer --clear-groups env -i HOME=/home/customer PATH=/usr/bin:/bin sh -ec "cd; $1"; }
fetched="wget -qO- http://127.0.0.1:$release_port/install.sh | sh -s -- --from http://127.0.0.1:$release_port"
as_customer "$fetched --key /packages/release.pub" >"$work/script.log" 2>&1 || die "the script did not install gantry: $(cat "$work/script.log")"
grep -q 'The signature of SHA256SUMS is good' "$work/script.log" || die "the script did not verify the signature: $(cat "$work/script.log")"
[ "$(as_customer '.local/bin/gantry --version')" = "$(inside 'gantry --version')" ] || die "the script installed another version than the package"
printf 'x' >>"$(ls "$release"/gantry-*-linux-"$(go env GOARCH)".tar.gz)"
! as_customer "$fetched --prefix /home/customer/changed" >"$work/script-changed.log" 2>&1 && [ ! -e "$fresh/home/customer/changed" ] ||
  die "the script installed a file with another checksum"
kill "$server" && server=
market="--url $rpc --ws $ws --keypair wallet.json"
rented="deploy --gpu any --max-price 3.00 --duration 10m --allow-simulated --run-to-completion --yes -- echo rented"
as_customer ".local/bin/gantry $market credits add 5 --yes >/dev/null; .local/bin/gantry $market $rented" >"$work/rent.log" 2>&1 &
renting=$!

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
wait "$renting" && grep -q '^rented$' "$work/rent.log" || die "the customer did not rent with the installed command: $(cat "$work/rent.log")"
say "seen: a job that was rented with the command of the install script"

step "a customer installs the wheel"
# What the module needs lies beside the wheel: this check uses no index.
mkdir "$fresh/packages/wheels" && cp "$(clients_venv)"/wheels/*.whl build/dist/gantry_market-*-manylinux_2_17_"$(uname -m)".*.whl "$fresh/packages/wheels/"
as_customer 'python3 -m venv wheel && wheel/bin/pip install --quiet --no-index --find-links /packages/wheels gantry-market' >"$work/wheel.log" 2>&1 || die "pip does not install the wheel: $(cat "$work/wheel.log")"
[ "$(as_customer 'wheel/bin/gantry --version')" = "$(inside 'gantry --version')" ] || die "the wheel has another version than the package"
as_customer "wheel/bin/gantry $market $rented" >"$work/wheel-rent.log" 2>&1 && grep -q '^rented$' "$work/wheel-rent.log" || die "the customer did not rent with the wheel's command: $(cat "$work/wheel-rent.log")"
say "seen: a job that was rented with the command of the wheel"
serve_port=$((36000 + RANDOM % 1000))
as_customer "exec wheel/bin/gantry --url $rpc --ws $ws serve --public --listen 127.0.0.1:$serve_port" >"$work/wheel-serve.log" 2>&1 &
until_seen "the wheel's command serves" "curl -sf http://127.0.0.1:$serve_port/v1/offers"
as_customer "wheel/bin/python -c 'import gantry
with gantry.Client(\"http://127.0.0.1:$serve_port\", \"none\") as client:
    print(client.offers(\"simulated\", limit=1).fit, \"machines\")'" >"$work/wheel-client.log" 2>&1 && grep -q '^[1-9][0-9]* machines$' "$work/wheel-client.log" ||
  die "the wheel's module finds no machine: $(cat "$work/wheel-client.log")"
ended wheel/bin/gantry --url "$rpc" --ws "$ws" serve --public --listen "127.0.0.1:$serve_port"

step "a customer installs the package of RPM"
# A system of Fedora's family has dnf and RPM's database. One package stands here for the base system: its files are Debian's, and it
# provides what the packages require.
rm -rf "$fedora"/{var/lib/dpkg,var/lib/apt,etc/apt} "$fedora"/usr/bin/{apt,dpkg}*
printf '%s\n' 'name: base' "arch: $(go env GOARCH)" 'version: 1.0.0' 'maintainer: nobody' 'description: the base system' \
  'provides: [/bin/sh, ca-certificates, e2fsprogs, systemd, glibc = 2.36]' >"$work/base.yaml"
nfpm package --config "$work/base.yaml" --packager rpm --target "$work/base.rpm" >"$work/base.log"
dnf=(dnf --installroot "$fedora" --releasever 42 --disablerepo '*' --assumeyes --quiet)
"${dnf[@]}" install "$work/base.rpm" >"$work/rpm.log" 2>&1 || die "the base system cannot be made: $(tail -n 3 "$work/rpm.log")"
mount -t proc proc "$fedora/proc"
# on_fedora COMMAND: runs in it as root.
on_fedora() { chroot "$fedora" /bin/sh -ec "$1"; }
"${dnf[@]}" install build/dist/gantry-[0-9]*.rpm >>"$work/rpm.log" 2>&1 || die "dnf does not install the command: $(tail -n 3 "$work/rpm.log")"
on_fedora 'useradd --create-home --user-group customer'
install -m 0600 -o "$(on_fedora 'id -u customer')" "$work/market/keys/customer-2.json" "$fedora/home/customer/wallet.json"
as_customer "gantry $market $rented" "$fedora" >"$work/rpm-rent.log" 2>&1 && grep -q '^rented$' "$work/rpm-rent.log" || die "the customer did not rent with the command of dnf: $(cat "$work/rpm-rent.log")"
say "seen: a job that was rented with the command of dnf"
for name in gantry-agent gantry-keeper gantry-gateway; do
  "${dnf[@]}" install build/dist/"$name"-[0-9]*.rpm >>"$work/rpm.log" 2>&1 || die "dnf does not install $name: $(tail -n 3 "$work/rpm.log")"
done
for name in gantry gantry-agent gantry-keeper gantry-gateway; do
  on_fedora "$name --version; [ -s /usr/share/doc/$name/THIRD-PARTY-LICENSES.txt ]"
done >&2
on_fedora 'systemd-analyze verify /usr/lib/systemd/system/gantry-*.service; [ -d /var/lib/gantry-agent ]; id -u gantry-keeper gantry-gateway' >>"$work/rpm.log"
"${dnf[@]}" remove gantry gantry-agent gantry-keeper gantry-gateway >>"$work/rpm.log" 2>&1 || die "dnf does not remove the packages: $(tail -n 3 "$work/rpm.log")"
! on_fedora 'command -v gantry gantry-agent gantry-keeper gantry-gateway' || die "the packages of RPM leave programs behind"
umount "$fedora/proc" && rm -rf --one-file-system "$fedora"

# next PACKAGE PROGRAM...: a package of the next version, which differs in every program by a byte after its end.
next() {
  local package=$1 program dir=$work/next/$1
  shift
  mkdir -p "$work/next" && dpkg-deb -R build/dist/"$package"_*.deb "$dir"
  sed -i 's/^Version: .*/&+next/' "$dir/DEBIAN/control"
  for program in "$@"; do printf '\0' >>"$dir/usr/$program"; done
  pack "$dir" "$package-next"
}
# pack FOLDER NAME: makes a package of an unpacked one, for the fresh system.
pack() {
  (cd "$1" && find usr -type f -exec md5sum {} + >DEBIAN/md5sums)
  dpkg-deb -Zgzip -b "$1" "$fresh/packages/$2.deb" >/dev/null
}

step "a customer's job on it, and an upgrade meanwhile"
next gantry-agent lib/gantry/gantry-agent lib/gantry/gantry-shell lib/gantry/runsc
customer="gantry --url $rpc --ws $ws --keypair /root/customer-1.json"
inside "$customer credits add 5 --yes >/dev/null"
inside "$customer deploy --gpu A100 --max-price 1.10 --duration 10m --allow-simulated --run-to-completion --yes -- sh -c 'date +\"began at %s\"; sleep 25; echo ended'" >"$work/job.log" 2>&1 &
job=$!
until_seen "the job runs" "grep -q '^began at' '$work/job.log'"
inside 'dpkg -i /packages/gantry-agent-next.deb' >"$work/upgrade.log" 2>&1
before=$(running gantry-agent run --no-lease-network)
kill -TERM "$before" # what systemctl try-restart does
until_seen "the agent of the previous version has stopped" "[ ! -d /proc/$before ]"
run
wait "$job" || die "the job did not survive the upgrade"
[ "$(grep -c '^began at' "$work/job.log")" = 1 ] && grep -q '^ended$' "$work/job.log" || die "the job did not run once, from its start to its end: $(cat "$work/job.log")"
until_seen "the machine is checked after the upgrade" "inside 'gantry-agent status' | grep -E 'agent +up'"

step "a keeper, its signer and a gateway"
next gantry-keeper bin/gantry-keeper
next gantry-gateway bin/gantry-gateway
# A build of the same sources whose stores have another layout, as a later version's may.
mkdir "$work/later" && for file in keeper/store/store.go gateway/toll/book.go; do
  sed 's/^\(const Schema\|\tschema \) *= [0-9]*$/\1 = 99/' "$file" >"$work/later/$(basename "$file")"
  ! cmp -s "$file" "$work/later/$(basename "$file")" || die "$file names no schema as it did"
done
printf '{"Replace":{"%s":"%s","%s":"%s"}}' "$root/keeper/store/store.go" "$work/later/store.go" "$root/gateway/toll/book.go" "$work/later/book.go" >"$work/later/overlay.json"
CGO_ENABLED=0 go build -overlay "$work/later/overlay.json" -o "$work/later/" ./keeper/cmd/gantry-keeper ./gateway/cmd/gantry-gateway
for name in gantry-keeper gantry-gateway; do
  dpkg-deb -R build/dist/"$name"_*.deb "$work/later/$name.d"
  sed -i 's/^Version: .*/&+next+later/' "$work/later/$name.d/DEBIAN/control"
  cp "$work/later/$name" "$work/later/$name.d/usr/bin/$name"
  pack "$work/later/$name.d" "$name-later"
done
mkdir "$fresh/packages/first" && mv "$fresh"/packages/gantry-keeper_*.deb "$fresh"/packages/gantry-gateway_*.deb "$fresh/packages/first/"

# serve USER LOG SETTING... -- COMMAND...: runs a command as its unit does: as its user, without capabilities.
serve() {
  local user=$1 log=$2 settings=()
  shift 2
  while [ "$1" != -- ]; do settings+=("$1") && shift; done
  shift
  chroot "$fresh" setpriv --reuid="$user" --regid="$user" --clear-groups --no-new-privs --bounding-set=-all \
    env "GANTRY_RPC_URL=$rpc" "GANTRY_WS_URL=$ws" "${settings[@]}" "$@" >>"$work/$log.log" 2>&1
}
signer_port=$((20000 + RANDOM % 10000)) figures=$((31000 + RANDOM % 1000))
# The third keeper of the market moves here with all that it has, its key and its store to a signer.
keeper=$(cat "$work/market/pids/keeper-3.pid")
kill -TERM "$keeper"
until_seen "the market's third keeper has stopped" "[ ! -d /proc/$keeper ]"
cp -a "$work/market/keepers/keeper-3" "$fresh/var/lib/gantry-signer"
inside 'install -d -m 0700 -o gantry-keeper -g gantry-keeper /var/lib/gantry-keeper; install -d -m 0711 /run/keys'
cp "$work/market/keys/keeper-3.json" "$fresh/etc/gantry/signer.json"
inside "gantry-keeper signer init --url $rpc --ws $ws --keypair /etc/gantry/signer.json --data /var/lib/gantry-signer; chown -R gantry-signer: /var/lib/gantry-signer; install -m 0400 -o gantry-signer /etc/gantry/signer.json /run/keys/signer" >"$work/init.log" 2>&1
link=$(inside 'setpriv --reuid=gantry-keeper --regid=gantry-keeper --clear-groups gantry-keeper signer key --data /var/lib/gantry-keeper')
signer=$(inside 'setpriv --reuid=gantry-signer --regid=gantry-signer --clear-groups gantry-keeper signer key --data /var/lib/gantry-signer')
sign() {
  serve gantry-signer signer GANTRY_KEEPER_DATA=/var/lib/gantry-signer GANTRY_KEYPAIR=/run/keys/signer GANTRY_SIGNER_SOCKET=off \
    "GANTRY_SIGNER_LISTEN=127.0.0.1:$signer_port" "GANTRY_SIGNER_ALLOW=$link" -- gantry-keeper signer run
}
keep() {
  serve gantry-keeper keeper GANTRY_KEEPER_DATA=/var/lib/gantry-keeper "GANTRY_KEEPER_SIGNER=tls://$signer@127.0.0.1:$signer_port" \
    "GANTRY_KEEPER_METRICS=127.0.0.1:$figures" -- gantry-keeper run --localnet
}
# figure NAME: a figure of the keeper, which large ones show with an exponent.
figure() { curl -sf "http://127.0.0.1:$figures/metrics" | awk -v name="gantry_keeper_$1" '$1 == name { printf "%d\n", $2 }'; }
# votes WHAT: both run, and the keeper's vote makes a later report final: three keepers have a quorum together only.
votes() {
  sign &
  keep &
  until_seen "$1 is ready" "curl -sf http://127.0.0.1:$figures/readyz"
  local from
  from=$(figure last_final_period)
  until_seen "$1 votes for reports" "[ \"\$(figure last_final_period)\" -gt $((from + 1)) ] && curl -sf http://127.0.0.1:$figures/metrics | grep '^gantry_keeper_votes_total.* [1-9]'"
}
votes "the keeper that has moved, with a signer,"
# refused WHAT FUNCTION LOG: ends within seconds, and its log says that a store has another layout.
refused() {
  ! timeout 20 bash -c "$(declare -f serve "$2" && declare -p rpc ws work fresh signer_port link gateway_run); $2" || die "$1 with a store of another layout runs"
  tail -n 1 "$work/$3.log" | grep -q 'file has another schema: it has [0-9]*, this version reads [0-9]*.*version that wrote it' || die "$1 does not say what to do: $(tail -n 1 "$work/$3.log")"
}

# A gateway with a price, which keeps a book of what it is paid.
gateway_port=$((33000 + RANDOM % 1000))
gateway_run=(gantry-gateway run --listen "/ip4/127.0.0.1/tcp/$gateway_port" --tls "127.0.0.1:$((gateway_port + 1))" --metrics "127.0.0.1:$((gateway_port + 2))" --ssh off)
cp "$work/market/keys/customer-2.json" "$fresh/root/"
inside "gantry --url $rpc --ws $ws --keypair /root/customer-2.json credits add 1 --yes" >"$work/gateway-credits.log"
inside 'install -d -m 0700 -o gantry-gateway -g gantry-gateway /var/lib/gantry-gateway; install -m 0400 -o gantry-gateway /root/customer-2.json /run/keys/gateway'
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=gw.test -addext 'subjectAltName=DNS:*.gw.test' \
  -keyout "$fresh/etc/gantry/gw.key" -out "$fresh/etc/gantry/gw.pem" 2>"$work/openssl.log"
inside 'chown gantry-gateway: /etc/gantry/gw.key'
gate() {
  serve gantry-gateway gateway GANTRY_GATEWAY_DATA=/var/lib/gantry-gateway GANTRY_KEYPAIR=/run/keys/gateway GANTRY_GATEWAY_DOMAIN=gw.test GANTRY_GATEWAY_PRICE=0.05 \
    GANTRY_GATEWAY_CERT=/etc/gantry/gw.pem GANTRY_GATEWAY_CERT_KEY=/etc/gantry/gw.key -- "${gateway_run[@]}"
}
# gates WHAT: it runs, with the book of payments that it has.
gates() {
  gate &
  until_seen "$1 is ready" "curl -sf http://127.0.0.1:$((gateway_port + 2))/readyz"
  [ -s "$fresh/var/lib/gantry-gateway/payments.db" ] || die "$1 has no book of payments"
}
gates "a gateway that has a price"
stop_services() {
  ended gantry-keeper run --localnet
  ended gantry-keeper signer run
  ended "${gateway_run[@]}"
}

step "both upgraded, and back"
inside 'dpkg -i /packages/gantry-keeper-next.deb /packages/gantry-gateway-next.deb' >"$work/upgrade-keeper.log" 2>&1
stop_services
votes "the keeper of the next build"
gates "the gateway of the next build"
inside 'dpkg -i /packages/first/*.deb' >>"$work/upgrade-keeper.log" 2>&1
stop_services
votes "the keeper that was brought back"
gates "the gateway that was brought back"

step "a build whose stores have another layout"
inside 'dpkg -i /packages/gantry-keeper-later.deb /packages/gantry-gateway-later.deb' >>"$work/upgrade-keeper.log" 2>&1
stop_services
before=$(sha256sum "$fresh/var/lib/gantry-signer/keeper.db" "$fresh/var/lib/gantry-gateway/payments.db")
refused "a later signer" sign signer
refused "a later gateway" gate gateway
[ "$before" = "$(sha256sum "$fresh/var/lib/gantry-signer/keeper.db" "$fresh/var/lib/gantry-gateway/payments.db")" ] || die "a build that refuses a store has changed it"
inside "gantry-keeper signer init --url $rpc --ws $ws --keypair /etc/gantry/signer.json --data /var/lib/gantry-later" >>"$work/init.log" 2>&1
inside 'dpkg -i /packages/first/*.deb' >>"$work/upgrade-keeper.log" 2>&1
! inside 'gantry-keeper signer run --keypair /etc/gantry/signer.json --data /var/lib/gantry-later' >"$work/back.log" 2>&1 || die "a signer runs with the store of a later build"
grep -q 'it has 99, this version reads' "$work/back.log" || die "a signer does not say that a later build wrote its store: $(cat "$work/back.log")"
votes "the keeper, with the store that was refused,"
gates "the gateway, with the payments that were refused,"
say "packages work: $((SECONDS - begin)) s in all"
