#!/usr/bin/env bash
# Checks the tools that a task needs and installs what is pinned and missing.
# usage: toolchain.sh [go] [host] [sbf] [lint] [prose] [tpm] [sandbox] [registry] [ssh] [peers] [promtool] [dist] [browser] [clients] [openai] [model] [jupyter] [ray] [skypilot] [dstack] [torch] [slurm] [kubernetes] [guest] [ansible] [docs] [all]
#   go    Go and a C compiler                      host  Rust for host code, and what the embedded engine needs
#   sbf   Rust and linker for the on-chain build   lint  gofumpt and staticcheck
#   prose  Vale, which reads the English of pages
#   sandbox  gVisor, in which jobs with an image run, and mkfs.ext4 for their disks
#   registry  a registry server, which tests of private images start; without it they are skipped
#   ssh   OpenSSH's client, rsync and a static busybox, with which tests visit containers; without them they are skipped
#   dist  nfpm, which makes packages, minisign, which signs their checksums, and zip
#   browser  what tries the page of `gantry serve` in a browser that is there; without it that test is skipped
#   clients  what generates and tries the Python and TypeScript clients and other programs' MCP; without it those tests are skipped
#   openai  the stock clients of OpenAI and Anthropic for Python, and LiteLLM, with which /openai/v1 and /anthropic/v1 are tried; without them those tests are skipped
#   model  llama.cpp's server, prebuilt for processors, which tests put into an image; jupyter  JupyterLab, ray  Ray, skypilot  SkyPilot, dstack  its server, torch  PyTorch and slurm  Slurm of Debian for the same. Not in all; without them those tests are skipped
#   kubernetes  etcd, the API server, the scheduler and the controller manager, built from their Go modules for a test. Not in all
#   guest  the packages of Debian of which the measured guest's image is made, and QEMU with a software TPM, in which tests boot it. Not in all; without them those tests are skipped
#   ansible  Ansible, with which the role for machines is tried; without it those tests are skipped. Not in all
#   promtool  Prometheus and its tool, with which alert rules and dashboards are tried; without them those tests are skipped
#   peers  iperf3 and OpenSSH's server, beside which benchmarks of leases measure; without them they measure alone
#   tpm   a software TPM, which some tests start; without it they are skipped
source "$(dirname "$0")/common.sh"

# has PATTERN TEXT: whether a line of the text matches. Not a pipe: grep -q closes it early, which pipefail punishes.
has() { grep -q -- "$1" <<<"$2"; }

need_go() {
  have go || die "Go $GO_MIN or newer is needed: https://go.dev/dl/"
  local version
  version=$(go env GOVERSION) && version=${version#go}
  [ "$(printf '%s\n%s\n' "$GO_MIN" "$version" | sort -V | head -1)" = "$GO_MIN" ] ||
    die "Go $GO_MIN or newer is needed, this is $version: https://go.dev/dl/"
  need_compiler
}

need_compiler() {
  local missing=()
  have gcc || have cc || missing+=(gcc libc6-dev)
  have make || missing+=(make)
  have git || missing+=(git)
  [ ${#missing[@]} = 0 ] || debian "${missing[@]}"
}

need_rustup() {
  have rustup || die "rustup is needed: https://rustup.rs (curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh)"
}

# toolchain NAME COMPONENT...: a pinned Rust toolchain with its components.
toolchain() {
  local name=$1 component missing=() installed
  shift
  need_rustup
  if has "^$name" "$(rustup toolchain list)"; then
    installed=$(rustup component list --toolchain "$name" --installed)
    for component in "$@"; do
      has "^$component" "$installed" || missing+=("$component")
    done
    [ ${#missing[@]} = 0 ] && return
    rustup component add --toolchain "$name" "${missing[@]}"
  else
    say "installing Rust $name"
    local flags=()
    for component in "$@"; do flags+=(-c "$component"); done
    rustup toolchain install "$name" --profile minimal --no-self-update "${flags[@]}"
  fi
}

need_host() {
  need_compiler
  toolchain "$RUST_HOST" clippy rustfmt
  need_openssl
}

# surfpool and the program's tests link OpenSSL. They build it themselves where the system has none for them, which takes
# longer and wants the whole of Perl, not only perl-base.
need_openssl() {
  if pkg-config --exists openssl 2>/dev/null; then return; fi
  if [ "$(id -u)" = 0 ] && have apt-get && (debian libssl-dev pkg-config); then return; fi
  perl -MFindBin -MFile::Compare -MIPC::Cmd -e 1 2>/dev/null || debian perl
}

need_sbf() {
  need_compiler
  toolchain "$RUST_SBF" rust-src clippy rustfmt
  if ! has "^sbpf-linker $SBPF_LINKER\$" "$(sbpf-linker --version 2>/dev/null || true)"; then
    say "building sbpf-linker $SBPF_LINKER (about two minutes)"
    # It links one program: a short build matters more than its own speed, and what it writes is the same.
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=1 \
      cargo "+$RUST_SBF" install sbpf-linker --version "$SBPF_LINKER" --locked --force --root "$cache/tools" ||
      die "sbpf-linker could not be built"
  fi
}

need_lint() {
  need_go
  has "^$GOFUMPT " "$(gofumpt -version 2>/dev/null || true)" ||
    GOBIN=$tools go install "mvdan.cc/gofumpt@$GOFUMPT"
  [ "$(cat "$tools/staticcheck.version" 2>/dev/null)" = "$STATICCHECK" ] && have staticcheck || {
    GOBIN=$tools go install "honnef.co/go/tools/cmd/staticcheck@$STATICCHECK"
    printf '%s\n' "$STATICCHECK" >"$tools/staticcheck.version"
  }
}

need_prose() {
  need_go
  has " ${VALE#v}\$" "$(vale --version 2>/dev/null || true)" ||
    GOBIN=$tools go install -ldflags "-X main.version=${VALE#v}" "github.com/vale-cli/vale/v3/cmd/vale@$VALE"
}

# The software TPM is wanted, not needed: who may not install packages gets on without it.
need_tpm() {
  if have swtpm && have swtpm_setup && have swtpm_localca; then return; fi
  if [ "$(id -u)" = 0 ] && have apt-get && (debian swtpm swtpm-tools); then return; fi
  say "no software TPM: tests that need one will be skipped (on Debian: sudo apt-get install -y --no-install-recommends swtpm swtpm-tools)"
}

# mkfs.ext4 is wanted, not needed: without it the disk of a container is watched instead of limited by its file system.
need_mkfs() {
  if have mkfs.ext4 || [ -x /usr/sbin/mkfs.ext4 ]; then return; fi
  if [ "$(id -u)" = 0 ] && have apt-get && (debian e2fsprogs); then return; fi
  say "no mkfs.ext4: disks of containers will be watched, and tests of their file systems skipped (on Debian: sudo apt-get install -y e2fsprogs)"
}

# So are the programs that visit containers, and the shell of the images that they visit.
need_ssh() {
  local packages=()
  have ssh && have scp && have sftp || packages+=(openssh-client)
  have rsync || packages+=(rsync)
  have busybox || packages+=(busybox-static)
  [ ${#packages[@]} -gt 0 ] || return 0
  if [ "$(id -u)" = 0 ] && have apt-get && (debian "${packages[@]}"); then return; fi
  say "tests of shells in containers will be skipped (on Debian: sudo apt-get install -y --no-install-recommends ${packages[*]})"
}

# And what the benchmarks of leases compare with. OpenSSH's server is unpacked and not installed: that would start it.
need_peers() {
  if ! have iperf3 && ! { [ "$(id -u)" = 0 ] && have apt-get && (debian iperf3); }; then
    say "no iperf3: forwarded TCP will not be measured (on Debian: sudo apt-get install -y --no-install-recommends iperf3)"
  fi
  sshd_runs || unpack_sshd || say "no OpenSSH server: the time of SSH will be measured without its peer"
}

sshd_runs() { # not so when the folder of the cache that it is in has gone
  has OpenSSH "$("$tools/sshd" '-?' 2>&1 || true)"
}

unpack_sshd() {
  have apt-get && have dpkg || return 1
  local dir=$cache/openssh package
  rm -rf "$dir" && mkdir -p "$dir/packages" || return 1
  (cd "$dir/packages" && apt-get download openssh-server libwrap0) >"$root/build/logs/openssh.log" 2>&1 || return 1
  for package in "$dir"/packages/*.deb; do dpkg -x "$package" "$dir" || return 1; done
  cat >"$tools/sshd" <<EOF
#!/bin/sh
LD_LIBRARY_PATH=$(find "$dir" -name 'libwrap.so.0' -printf '%h' -quit) exec "$dir/usr/sbin/sshd" "\$@"
EOF
  chmod +x "$tools/sshd"
  sshd_runs || { rm -f "$tools/sshd" && return 1; }
}

# Prometheus is unpacked and not installed: that would start it.
need_promtool() {
  if have promtool && have prometheus; then return; fi
  unpack_prometheus || say "no promtool: alert rules will not be tried (on Debian: sudo apt-get install -y --no-install-recommends prometheus)"
}

unpack_prometheus() {
  have apt-get && have dpkg || return 1
  local dir=$cache/prometheus
  rm -rf "$dir" && mkdir -p "$dir" "$root/build/logs" || return 1
  (cd "$dir" && apt-get download prometheus && dpkg -x prometheus_*.deb .) >"$root/build/logs/prometheus.log" 2>&1 &&
    mv "$dir/usr/bin/promtool" "$dir/usr/bin/prometheus" "$tools/" && rm -rf "$dir"
}

need_sandbox() {
  need_go
  need_mkfs
  [ "$(cat "$tools/runsc.version" 2>/dev/null)" = "$GVISOR" ] && [ -x "$tools/runsc" ] || {
    say "building gVisor (about a minute)"
    CGO_ENABLED=0 GOBIN=$tools go install -trimpath -ldflags '-s -w' "gvisor.dev/gvisor/runsc@$GVISOR" &&
      printf '%s\n' "$GVISOR" >"$tools/runsc.version"
  }
}

need_registry() {
  need_go
  [ "$(cat "$tools/registry.version" 2>/dev/null)" = "$REGISTRY" ] && [ -x "$tools/registry" ] || {
    say "building the registry server (about two minutes)"
    CGO_ENABLED=0 GOBIN=$tools go install -trimpath -ldflags '-s -w' "github.com/distribution/distribution/v3/cmd/registry@$REGISTRY" &&
      printf '%s\n' "$REGISTRY" >"$tools/registry.version"
  }
}

need_dist() {
  need_go
  [ "$(cat "$tools/nfpm.version" 2>/dev/null)" = "$NFPM" ] && [ -x "$tools/nfpm" ] || {
    GOBIN=$tools go install "github.com/goreleaser/nfpm/v2/cmd/nfpm@$NFPM" && printf '%s\n' "$NFPM" >"$tools/nfpm.version"
  }
  [ "$(cat "$tools/minisign.version" 2>/dev/null)" = "$MINISIGN" ] && [ -x "$tools/minisign" ] || {
    GOBIN=$tools go install "aead.dev/minisign/cmd/minisign@$MINISIGN" && printf '%s\n' "$MINISIGN" >"$tools/minisign.version"
  }
  have zip || debian zip
}

# Where there is no browser, Chromium comes from a package of npm. It and what drives it are pinned by the lockfile.
need_browser() {
  local folder=$root/web/testdata/browser into
  if ! have node || ! have npm; then
    say "no node: the page of gantry serve will not be tried in a browser (on Debian: sudo apt-get install -y --no-install-recommends nodejs npm)"
    return
  fi
  into=$cache/chromium/$(key "$folder/package-lock.json")
  if [ ! -d "$folder/node_modules/playwright-core" ]; then
    npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund || {
      say "the packages of web/testdata/browser could not be installed: the page will not be tried in a browser"
      return
    }
  fi
  if have chromium || have chromium-browser || have google-chrome; then return; fi
  rm -rf "$cache/chromium"
  if (cd "$folder" && node chromium.mjs "$into") >/dev/null && "$into/chromium" --version >/dev/null; then
    ln -sf "$into/chromium" "$tools/chromium"
  else
    say "no browser: the page will not be tried in one (on Debian: sudo apt-get install -y --no-install-recommends chromium)"
  fi
}

# Programs in Python are wanted, not needed: without Python, or its index, the tests that use them are skipped. Each part has a
# virtual environment of its own, of the packages in scripts/python, all of which are pinned.
need_openai() { python_tool openai "the stock clients of OpenAI and Anthropic, and LiteLLM"; }
need_model() { python_tool model "llama.cpp's server"; }
need_docs() {
  python_tool docs "the generator of the documentation's site"
  [ -f "$cache/mermaid/$MERMAID.js" ] || fetch_mermaid || say "no mermaid: the site cannot be built (it needs npm; see build/logs/mermaid.log)"
}

# One file of the package is wanted, and none of the hundred packages that building it would need.
fetch_mermaid() {
  local dir=$cache/mermaid file
  rm -rf "$dir" && mkdir -p "$dir" && (cd "$dir" && npm pack "mermaid@$MERMAID") >"$root/build/logs/mermaid.log" 2>&1 || return
  file=$dir/mermaid-$MERMAID.tgz
  [ "sha512-$(openssl dgst -sha512 -binary "$file" | base64 -w0)" = "$MERMAID_INTEGRITY" ] || die "mermaid $MERMAID has another checksum than scripts/versions.sh names"
  tar -xzf "$file" -C "$dir" package/dist/mermaid.min.js && mv "$dir/package/dist/mermaid.min.js" "$dir/$MERMAID.js" && rm -rf "$dir/package" "$file"
}

need_jupyter() { python_tool jupyter "JupyterLab"; }
# PyTorch is Debian's: what PyPI has for Linux takes gigabytes of CUDA.
need_torch() { debian_root torch PyTorch python3-torch python3-minimal; }

# Slurm: the nodes' part goes into an image, the controller's part runs on this machine.
need_slurm() {
  debian_root slurm "Slurm's nodes" slurmd slurm-client munge dash coreutils tar grep sed gawk libc-bin
  local missing=()
  have slurmctld || missing+=(slurmctld)
  have sbatch || missing+=(slurm-client)
  have munged || missing+=(munge)
  have jq || missing+=(jq)
  [ ${#missing[@]} = 0 ] || debian "${missing[@]}"
}

# debian_root PART WHAT PACKAGE...: packages of Debian with all that they need, unpacked and not installed. The command PART-root says where.
debian_root() {
  local part=$1 what=$2
  shift 2
  [ -e "$cache/$part/whole" ] || { say "fetching $what" && unpack "$part" "$@"; } || {
    rm -f "$tools/$part-root"
    say "no $what: the test with it will be skipped (it needs apt-get and dpkg of Debian 12 or newer; see build/logs/$part.log)"
    return
  }
  printf '#!/bin/sh\necho "%s"\n' "$cache/$part/root" >"$tools/$part-root" && chmod +x "$tools/$part-root"
}

unpack() {
  have apt-get && have dpkg || return 1
  local part=$1 dir=$cache/$1 package
  shift
  rm -rf "$dir" && mkdir -p "$dir/packages" "$dir/root" "$root/build/logs" && : >"$dir/none" || return 1
  (
    cd "$dir/packages" && mapfile -t packages < <(apt-get install -s -o Dir::State::status="$dir/none" --no-install-recommends "$@" | awk '/^Inst/ {print $2}') &&
      [ ${#packages[@]} -gt 0 ] && apt-get download "${packages[@]}"
  ) >"$root/build/logs/$part.log" 2>&1 || return 1
  for package in "$dir"/packages/*.deb; do dpkg -x "$package" "$dir/root" || return 1; done
  rm -rf "$dir/packages" "$dir"/root/usr/share/{doc,man,locale,fonts,icons,gdal,proj,zoneinfo} && touch "$dir/whole"
}

# All parts are one program, so that they are linked once. Its sources are those of integrations/kubernetes/controlplane.
need_kubernetes() {
  need_go
  local dir=$root/integrations/kubernetes/controlplane version release
  version=$(key "$dir/go.mod" "$dir/go.sum" "$dir/main.go")
  [ "$(cat "$tools/gantry-controlplane.version" 2>/dev/null)" = "$version" ] && [ -x "$tools/gantry-controlplane" ] || {
    say "building a control plane of Kubernetes (half an hour on two cores)"
    release=$(sed -n 's|^\tk8s.io/kubernetes ||p' "$dir/go.mod")
    go build -C "$dir" -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$release -X k8s.io/client-go/pkg/version.gitVersion=$release" \
      -o "$tools/gantry-controlplane" . && printf '%s\n' "$version" >"$tools/gantry-controlplane.version"
  }
}

# What the measured guest's image is made of is pinned, and kept as it came. QEMU and the TPM are those of this system.
need_guest() {
  need_go
  need_tpm
  if ! have qemu-system-x86_64 && ! { [ "$(id -u)" = 0 ] && have apt-get && (debian qemu-system-x86); }; then
    say "no QEMU: the guest's image will not be booted (on Debian: sudo apt-get install -y --no-install-recommends qemu-system-x86)"
  fi
  guest_packages || say "the packages of guest/image/inputs.txt could not be fetched (they need apt of Debian or Ubuntu; see build/logs/guest.log): the guest's image cannot be built"
}

guest_packages() {
  local into=$cache/guest/packages name sum path site file
  mkdir -p "$into" && : >"$root/build/logs/guest.log" || return 1
  while read -r name _ sum path; do
    file=$into/${path##*/}
    [ -f "$file" ] && [ "$(sha256sum <"$file")" = "$sum  -" ] && continue
    say "fetching $name"
    # The archive that apt is set up for, where that is Debian's: its mirrors have the same files.
    # shellcheck disable=SC2016 # apt fills it in
    site=$(apt-get indextargets --format '$(SITE)' 'Origin: Debian' 'Label: Debian' 2>/dev/null | head -1)
    /usr/lib/apt/apt-helper download-file "${site:-http://deb.debian.org/debian}/$path" "$file.part" "SHA256:$sum" >>"$root/build/logs/guest.log" 2>&1 &&
      mv "$file.part" "$file" || return 1
  done < <(grep -v "^#" "$root/guest/image/inputs.txt")
}

need_ansible() { python_tool ansible "Ansible"; }
need_ray() { python_tool ray "Ray"; }
need_skypilot() { python_tool skypilot "SkyPilot"; }
# dstack, and the image of its jobs: with an SSH server and curl, which it would install in others.
need_dstack() {
  python_tool dstack "dstack"
  debian_root dstack "the image of dstack's jobs" openssh-server curl ca-certificates bash coreutils dash grep sed libc-bin
}

# python_tool PART WHAT: the command PART-python, which is Python with the packages of scripts/python/PART.txt.
python_tool() {
  local list=$root/scripts/python/$1.txt dir
  dir=$cache/python/$1-$(key "$list")
  if [ ! -e "$dir/whole" ]; then
    say "installing $2"
    rm -rf "$cache/python/$1"-*
  fi
  python_venv "$dir" "$list" "$1-python" "$root/build/logs/$1.log" || {
    say "no $2: the tests with it will be skipped (they need Python 3.11 or newer; on Debian: sudo apt-get install -y --no-install-recommends python3-venv; see build/logs/$1.log)"
    rm -f "$tools/$1-python"
  }
}

# python_venv FOLDER PACKAGES COMMAND LOG: a virtual environment with the pinned packages of a file, unless it is there, and a command that
# is its Python.
python_venv() {
  hold "$1.lock" make_venv "$1" "$2" >"$4" 2>&1 || return
  printf '#!/bin/sh\nexec "%s/bin/python" "$@"\n' "$1" >"$tools/$3" && chmod +x "$tools/$3"
}

make_venv() {
  [ -e "$1/whole" ] ||
    { rm -rf "$1" && python3 -m venv "$1" && "$1/bin/pip" install --disable-pip-version-check --quiet --no-deps --requirement "$2" && touch "$1/whole"; }
}

# client_wheels VENV: what the wheel of the Python client needs. A test installs it without an index.
client_wheels() {
  local needs
  needs=$("$1/bin/python" -c 'import sys, tomllib; print(*tomllib.load(open(sys.argv[1], "rb"))["project"]["dependencies"], sep="\n")' "$root/clients/python/pyproject.toml") || return
  [ "$(cat "$1/wheels/needs.txt" 2>/dev/null)" != "$needs" ] || return 0
  rm -rf "$1/wheels" && mkdir "$1/wheels" && printf '%s\n' "$needs" >"$1/needs.txt" &&
    "$1/bin/pip" download --disable-pip-version-check --quiet --dest "$1/wheels" --constraint "$root/clients/python/requirements.txt" --requirement "$1/needs.txt" &&
    mv "$1/needs.txt" "$1/wheels/"
}

# The clients are generated and tried with pinned packages, in a virtual environment of the cache.
need_clients() {
  local venv
  venv=$(clients_venv)
  if ! have npm || ! python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    say "no Python 3.11 with venv, or no npm: the Python and TypeScript clients will not be tried (on Debian: sudo apt-get install -y --no-install-recommends python3-venv nodejs npm)"
    return
  fi
  [ -e "$venv/whole" ] || say "installing what generates and tries the clients"
  python_venv "$venv" "$root/clients/python/requirements.txt" gantry-python "$root/build/logs/clients-pip.log" ||
    { say "the packages of clients/python/requirements.txt could not be installed, see build/logs/clients-pip.log: the clients will not be tried" && return; }
  hold "$venv.lock" client_wheels "$venv" >"$root/build/logs/clients-wheels.log" 2>&1 || {
    say "what the Python client needs could not be fetched, see build/logs/clients-wheels.log: the clients will not be tried"
    rm -f "$tools/gantry-python"
    return
  }
  [ -d "$root/clients/typescript/node_modules/openapi-fetch" ] ||
    npm ci --prefix "$root/clients/typescript" --ignore-scripts --no-audit --no-fund
  [ -d "$root/clients/kit/node_modules/codama" ] ||
    npm ci --prefix "$root/clients/kit" --ignore-scripts --no-audit --no-fund --loglevel=error
  [ -d "$root/client/solanapay/testdata/client/node_modules/@solana/pay" ] && [ -d "$root/client/solanapay/testdata/client/node_modules/@solana/actions" ] ||
    npm ci --prefix "$root/client/solanapay/testdata/client" --ignore-scripts --no-audit --no-fund
}

[ $# -gt 0 ] || set -- all
for part in "$@"; do
  case $part in
    go | host | sbf | lint | prose | tpm | sandbox | registry | ssh | peers | promtool | dist | browser | clients | openai | model | jupyter | ray | skypilot | dstack | torch | slurm | kubernetes | guest | ansible | docs) "need_$part" ;;
    all) need_go && need_host && need_sbf && need_lint && need_prose && need_tpm && need_sandbox && need_registry && need_ssh && need_promtool && need_openai ;;
    *) die "unknown part $part: want go, host, sbf, lint, prose, tpm, sandbox, registry, ssh, peers, promtool, dist, browser, clients, openai, model, jupyter, ray, skypilot, dstack, torch, slurm, kubernetes, guest, ansible, docs or all" ;;
  esac
done
