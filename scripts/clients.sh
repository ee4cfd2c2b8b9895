#!/usr/bin/env bash
# Generates the Python and the TypeScript client from the committed OpenAPI document, checks their types and packs them. Generates the clients of the
# program for @solana/kit and for Rust from its committed interface description, tests both, and packs the one for npm.
# usage: clients.sh [generate] [check] [program] [pack]     all four without an argument
#        clients.sh ray                                tests of Ray's node provider, with the generated client
#        clients.sh skypilot                           tests of SkyPilot's plug-in, with the generated client
#        clients.sh dstack                             tests of dstack's backend, with the generated client
#        clients.sh probe URL TOKEN_FILE               Schemathesis against a running gantry serve
source "$(dirname "$0")/common.sh"
cd "$root"
document=client/serve/testdata/openapi.json
venv=$(clients_venv)

generate() {
  "$root/scripts/toolchain.sh" clients
  [ -e "$venv/whole" ] || die "the clients need Python 3.11 with venv, node 20 and npm"
  step "the clients, from $document"
  local core
  core=$(mktemp -d)
  (cd "$core" && PATH="$venv/bin:$PATH" "$venv/bin/openapi-python-client" generate --path "$root/$document" --meta none --output-path core)
  rm -rf clients/python/gantry/core && mv "$core/core" clients/python/gantry/core && rmdir "$core"
  "$venv/bin/python" clients/python/without_await.py
  npm run --silent generate --prefix clients/typescript
}

check() {
  step "types of the clients"
  in_dir clients/python "$venv/bin/mypy" --cache-dir "$root/build/mypy" gantry
  npm run --silent build --prefix clients/typescript
}

program() {
  "$root/scripts/toolchain.sh" clients host
  [ -d clients/kit/node_modules/codama ] || die "the clients of the program need node 20 and npm"
  step "the clients of the program, from idl/gantry_market.json"
  npm run --silent generate --prefix clients/kit
  npm run --silent build --prefix clients/kit
  step "the client for @solana/kit against clients/vectors.json"
  npm run --silent test --prefix clients/kit
  step "the client for Rust against clients/vectors.json"
  cached_test "$cache/client-rust/$(key "$root/clients/rust/Cargo.lock" "$RUST_HOST")" clients/rust clients/rust "--quiet"
  mkdir -p build/clients
  (cd clients/kit && npm pack --silent --pack-destination "$root/build/clients")
}

pack() {
  step "packages of the clients, in build/clients"
  mkdir -p build/clients
  "$venv/bin/python" -m build --no-isolation --wheel --outdir build/clients clients/python >build/logs/clients.log 2>&1 || die "the wheel could not be built, see build/logs/clients.log"
  (cd clients/typescript && npm pack --silent --pack-destination "$root/build/clients")
}

# integration PART TITLE: the tests of integrations/PART, with the real program that they serve.
integration() {
  "$root/scripts/toolchain.sh" "$1"
  have "$1-python" || die "$2 is tried with the real one, which could not be installed: see build/logs/$1.log"
  step "$2"
  # A proxy of the environment is not for servers on this machine.
  env no_proxy='*' PYTHONPATH="clients/python:integrations/$1" "$1-python" -m unittest discover --buffer -s "integrations/$1/tests"
}
ray() { integration ray "Ray's node provider"; }
skypilot() { integration skypilot "SkyPilot's plug-in"; }
dstack() { integration dstack "dstack's backend"; }

# Streams are left out: Schemathesis reads no server-sent events. It asks for the oldest lease that there is, and stops it. What is not a failure is in clients/schemathesis.toml.
probe() {
  local url=$1
  GANTRY_TOKEN=$(cat "$2") && export GANTRY_TOKEN
  "$root/scripts/toolchain.sh" clients
  GANTRY_LEASE=$("$venv/bin/python" - "$url" <<'END'
import os, sys, httpx
leases = httpx.get(sys.argv[1] + "/v1/leases", headers={"Authorization": "Bearer " + os.environ["GANTRY_TOKEN"]}, trust_env=False).raise_for_status().json()["leases"]
print(leases[-1]["address"] if leases else "11111111111111111111111111111111")
END
  ) && export GANTRY_LEASE
  step "Schemathesis against $url, with the lease $GANTRY_LEASE"
  (cd build && env no_proxy='*' "$venv/bin/schemathesis" --config-file "$root/clients/schemathesis.toml" run "$root/$document" --url "$url" \
    --max-examples "${EXAMPLES:-100}" --seed "${SEED:-1}")
}

if [ "${1:-}" = probe ]; then
  [ $# = 3 ] || die "usage: clients.sh probe URL TOKEN_FILE"
  probe "$2" "$3"
  exit
fi
[ $# -gt 0 ] || set -- generate check program pack
for part in "$@"; do
  case $part in
    generate | check | program | pack | ray | skypilot | dstack) "$part" ;;
    *) die "unknown part $part: want generate, check, program, pack, ray, skypilot, dstack or probe" ;;
  esac
done
