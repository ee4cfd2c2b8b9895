#!/usr/bin/env bash
# What takes too long for every change: many random cases of the property tests, all bit flips of the real evidence
# samples, hostile sequences and mutants, then every fuzz target for a while.
# usage: nightly.sh [random|nvgpu|snp|tdx|tpm|bundles|measure|sim|endpoints|kill|network|nat|hostile|templates|clusters|skypilot|dstack|slurm|kubernetes|images|platforms|guest|verify|agave|fuzz ...]   all of them by default; FUZZTIME is the time of each target, 30s
# nvgpu takes about half an hour on two cores, fuzz half a minute for each of some 43 targets.
source "$(dirname "$0")/common.sh"
"$root/scripts/toolchain.sh" go
cd "$root"
[ $# -gt 0 ] || set -- random nvgpu snp tdx tpm bundles measure sim endpoints kill network nat hostile templates clusters skypilot dstack slurm kubernetes images platforms guest verify agave fuzz

exhaustive() { GANTRY_EXHAUSTIVE=1 go test -count=1 "$@"; }

random() {
  local packages
  packages=$(git grep -l pgregory.net/rapid -- '*_test.go' | xargs -n1 dirname | sort -u | sed 's|^|./|')
  # shellcheck disable=SC2086
  RAPID_CHECKS=${RAPID_CHECKS:-4000} go test -count=1 -timeout 2h $packages
}

failed=()
for part in "$@"; do
  step "nightly: $part"
  case $part in
  # Property tests with fresh cases, forty times as many as `make test` draws.
  random) random ;;
  nvgpu) exhaustive -timeout 3h ./attest/nvgpu ;;
  snp | tdx) exhaustive -timeout 1h "./attest/$part" ;;
  tpm) exhaustive -run Recorded -timeout 30m ./attest/tpm ;;
  # A million bundles that are changed, or put together of genuine pieces, after guest or TPM have answered.
  bundles) GANTRY_BUNDLES=${GANTRY_BUNDLES:-1000000} go test -count=1 -timeout 2h -run MutatedBundles -v ./attest/policy ;;
  # A million answers that machines and those between could change.
  measure) exhaustive -timeout 3h -run Cheats ./attest/measure/processor ;;
  sim) exhaustive -timeout 1h ./localnet/adversary/sim && go run ./localnet/cmd/gantry-localnet sim --random --runs 200 --seed "$(date +%s)" ;;
  # Ten markets of a thousand periods whose keepers and machines read the chain through bad RPC nodes.
  endpoints)
    go run ./localnet/cmd/gantry-localnet sim --seed "$(date +%s)" --runs 10 --keepers 4 --nodes 6 --periods 1000 --period 10m \
      --endpoint-lag 30s --endpoint-fork 0.1 --endpoint-mute 0.05
    ;;
  kill) exhaustive -timeout 1h ./keeper/store ;;
  # go vet of the command for other systems, of which make lint checks the types.
  platforms) go run ./scripts/platforms -vet windows/amd64 darwin/arm64 -- ./client/cmd/gantry ;;
  # Every mutant of the rules by which leases are kept from the provider's networks.
  network) exhaustive -timeout 30m -run Mutants ./agent/network ;;
  nat) if [ "$(id -u)" = 0 ]; then "$root/scripts/nat.sh"; else say "SKIPPED nat: it needs root, to make network namespaces"; fi ;;
  # A million hostile instructions and every mutant: minutes each on an idle machine, too long for every change.
  hostile) GANTRY_HOSTILE_INSTRUCTIONS=${GANTRY_HOSTILE_INSTRUCTIONS:-1000000} "$root/scripts/hostile.sh" ;;
  # Programs of templates in containers, and llama.cpp's server as processes and in leases.
  templates)
    "$root/scripts/toolchain.sh" sandbox registry openai model jupyter && "$root/scripts/build.sh" surfnet go &&
      GANTRY_TEST_ALL=1 go test -count=1 -timeout 30m -run 'Container|RealModel' ./agent/runtime ./inference &&
      GANTRY_TEST_ALL=1 go test -tags e2e -count=1 -timeout 30m -run RealModel ./localnet/scenario
    ;;
  # Ray and PyTorch over the machines of an order, one of which fails; Ray's own launcher.
  clusters)
    "$root/scripts/toolchain.sh" sandbox ssh ray torch clients && "$root/scripts/build.sh" surfnet go && "$root/scripts/clients.sh" generate ray &&
      GANTRY_TEST_ALL=1 go test -tags e2e -count=1 -timeout 40m -run 'OverSeveralMachines$|TestRayUp$' -v ./localnet/scenario
    ;;
  # A task of SkyPilot on machines that it rents.
  skypilot)
    "$root/scripts/toolchain.sh" sandbox ssh skypilot clients && "$root/scripts/build.sh" surfnet go && "$root/scripts/clients.sh" generate skypilot &&
      GANTRY_TEST_ALL=1 go test -tags e2e -count=1 -timeout 20m -run 'TestSkyLaunch$' -v ./localnet/scenario
    ;;
  # A task of dstack on a machine that its server rents.
  dstack)
    "$root/scripts/toolchain.sh" sandbox ssh dstack clients && "$root/scripts/build.sh" surfnet go && "$root/scripts/clients.sh" generate dstack &&
      GANTRY_TEST_ALL=1 go test -tags e2e -count=1 -timeout 20m -run 'TestDstackApply$' -v ./localnet/scenario
    ;;
  # Jobs of a real slurmctld, on nodes that it rents.
  slurm)
    "$root/scripts/toolchain.sh" sandbox ssh slurm && "$root/scripts/build.sh" surfnet go &&
      GANTRY_TEST_ALL=1 go test -tags e2e -count=1 -timeout 20m -run 'TestSlurmRentsNodes$' -v ./localnet/scenario
    ;;
  # Pods of a real control plane of Kubernetes. Building that takes half an hour on two cores, once.
  kubernetes)
    "$root/scripts/toolchain.sh" sandbox ssh kubernetes && "$root/scripts/build.sh" surfnet go kubernetes &&
      go test -tags e2e -count=1 -timeout 40m -run 'TestPodsRunAsLeases' -v ./localnet/scenario
    ;;
  # Container images that are built and run.
  images) "$root/scripts/toolchain.sh" sandbox && "$root/scripts/build.sh" surfnet go && go test -tags e2e -count=1 -timeout 30m -v ./packaging/images ;;
  # The measured guest's image, built twice from empty caches, and booted with a TPM. It runs a container. Agents start it for leases.
  guest) "$root/scripts/toolchain.sh" guest && GANTRY_TEST_ALL=1 go test -count=1 -timeout 2h -v ./guest/... ./agent/guestvm &&
    # In a network of its own, with an address by which guests reach a registry.
    "$root/scripts/build.sh" surfnet go && unshare -n sh -c 'ip link set lo up && ip addr add 10.77.0.1/32 dev lo && go test -tags e2e -run InAMeasuredGuest -count=1 -timeout 30m -v ./localnet/scenario' ;;
  # The program's bytes from a place that shares nothing with this one, and the program on the next release of Agave.
  verify) "$root/scripts/program-verify.sh" ;;
  agave) "$root/scripts/agave-next.sh" ;;
  fuzz) "$root/scripts/fuzz.sh" "${FUZZTIME:-30s}" ;;
  *) die "no part of the nightly run is called $part; there are random, nvgpu, snp, tdx, tpm, bundles, measure, sim, endpoints, kill, network, nat, hostile, templates, clusters, skypilot, dstack, slurm, kubernetes, images, platforms, guest, verify, agave and fuzz" ;;
  esac || failed+=("$part")
done
[ ${#failed[@]} -eq 0 ] || die "nightly: failed: ${failed[*]}"
say "nightly: everything passed: $*"
