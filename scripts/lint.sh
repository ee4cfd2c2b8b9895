#!/usr/bin/env bash
# Format and lint checks of all code. Nothing is changed; every finding is an error.
source "$(dirname "$0")/common.sh"
"$root/scripts/toolchain.sh" all
cd "$root"
failed=()

check() { # NAME COMMAND...
  local name=$1
  shift
  step "$name"
  "$@" || failed+=("$name")
}

formatted() {
  local files
  files=$(git ls-files --cached --others --exclude-standard -z -- '*.go' | xargs -0 grep -L 'DO NOT EDIT\.$' | xargs gofumpt -l)
  [ -z "$files" ] || { say "run gofumpt -w on:" "$files"; return 1; }
}

# no_programs fails when a file that git tracks is a program somebody has built here. The market's program is one on purpose.
no_programs() {
  local files
  files=$(git ls-files -z -- ':!program/artifacts' | LC_ALL=C xargs -0 grep -laP '\A(\x7fELF|\xcf\xfa\xed\xfe)' || true)
  [ -z "$files" ] || { say "built, and not sources: git rm" "$files"; return 1; }
}

# clippy TOOLCHAIN CRATE TARGET_DIR CARGO_ARGS...: lints a crate on top of dependencies that are compiled already
# (cargo clippy would check every dependency again, which takes minutes).
clippy() {
  local toolchain=$1 crate=$2 target=$3
  shift 3
  cached_build "$target" "$crate" in_dir "$crate" env CLIPPY_ARGS="-Dwarnings__CLIPPY_HACKERY__" \
    RUSTC_WORKSPACE_WRAPPER="$(rustup which --toolchain "$toolchain" clippy-driver)" \
    cargo "+$toolchain" build --locked --all-targets --target-dir "$target" "$@"
}

rust() { # NAME TOOLCHAIN CRATE TARGET_DIR CARGO_ARGS...
  local name=$1 toolchain=$2 crate=$3
  shift
  check "$name: rustfmt" cargo "+$toolchain" fmt --check --manifest-path "$crate/Cargo.toml"
  check "$name: clippy" clippy "$@"
}

check "no built programs" no_programs
check "gofumpt" formatted
check "go vet" go vet -tags e2e ./...
check "staticcheck" staticcheck -tags e2e ./...
# The command for customers runs on other systems too: scripts/dist.sh builds it for all of them.
check "types for other systems" go run ./scripts/platforms windows/amd64 darwin/arm64 -- ./client/cmd/gantry
check "prose" scripts/prose.sh
check "testtool: go vet" in_dir internal/testtool/program go vet ./...
check "testtool: staticcheck" in_dir internal/testtool/program staticcheck ./...
check "plots: go vet" in_dir scripts/plots go vet ./...
check "plots: staticcheck" in_dir scripts/plots staticcheck ./...
check "compose: go vet" in_dir packaging/compose go vet ./...
check "compose: staticcheck" in_dir packaging/compose staticcheck ./...
check "helm: go vet" in_dir packaging/helm go vet ./...
check "helm: staticcheck" in_dir packaging/helm staticcheck ./...
check "kubernetes: go vet" in_dir integrations/kubernetes go vet ./...
check "kubernetes: staticcheck" in_dir integrations/kubernetes staticcheck ./...
if have shellcheck; then
  check "shellcheck" shellcheck -x .ci/run scripts/*.sh program/sbf/*.sh packaging/*.sh packaging/scripts/*.sh integrations/slurm/gantry-slurm integrations/slurm/image/gantry-slurm-node
else
  say "SKIPPED shellcheck: it is not installed"
fi
rust "program" "$RUST_SBF" program "$(program_host_target)"
check "framework: rustfmt" cargo "+$RUST_SBF" fmt --check --manifest-path program/framework/Cargo.toml
rust "program tests" "$RUST_HOST" program/tests "$(program_tests_target)"
rust "idl tool" "$RUST_HOST" program/tools/idl "$(idl_target)" --release
rust "surfnet" "$RUST_HOST" localnet/surfnet "$(surfnet_target)" --release

[ ${#failed[@]} = 0 ] || die "lint: ${#failed[@]} failed: $(printf '%s; ' "${failed[@]}")"
say "lint: everything is clean"
