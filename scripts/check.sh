#!/usr/bin/env bash
# The pre-commit run: formats, vets and tests what changed, and what depends on it. usage: check.sh [BASE]
# Changed is what differs from BASE: by default from where this branch left main, on main from the last commit. Tests run
# without the race detector; what only depends on a change is tested for two minutes at most and reported when cut off.
source "$(dirname "$0")/common.sh"
cd "$root"
began=$SECONDS

base=${1:-$(git merge-base HEAD main 2>/dev/null || git rev-parse HEAD)}
mapfile -t changed < <({ git diff --name-only "$base"; git ls-files --others --exclude-standard; } | sort -u)
if [ ${#changed[@]} = 0 ]; then
  say "nothing differs from $(git rev-parse --short "$base"): checking the last commit"
  base=$(git rev-parse HEAD~1)
  mapfile -t changed < <(git diff --name-only "$base")
fi
say "check: ${#changed[@]} files differ from $(git rev-parse --short "$base")"

changed_in() { # PATTERN...: whether a changed path matches one of the patterns
  local file pattern
  for file in "${changed[@]}"; do
    for pattern in "$@"; do
      # shellcheck disable=SC2053
      [[ $file == $pattern ]] && return 0
    done
  done
  return 1
}

# module_of FILE: the folder of its Go module.
module_of() {
  local dir
  dir=$(dirname "$1")
  while [ "$dir" != . ] && [ ! -f "$dir/go.mod" ]; do dir=$(dirname "$dir"); done
  printf '%s\n' "$dir"
}

# Go packages of changed files; a change of test data or of an embedded file counts for the folder's package. Those of
# other modules are left out.
packages_of_changes() {
  local file dir
  for file in "${changed[@]}"; do
    [ "$(module_of "$file")" = . ] || continue
    dir=$(dirname "$file")
    while [ "$dir" != . ] && ! compgen -G "$dir/*.go" >/dev/null; do dir=$(dirname "$dir"); done
    [ "$dir" = . ] || printf './%s\n' "$dir"
  done | sort -u
}

check_go() {
  "$root/scripts/toolchain.sh" go lint
  local files packages dependents
  mapfile -t files < <(for f in "${changed[@]}"; do if [[ $f == *.go && -f $f ]] && ! grep -q 'DO NOT EDIT\.$' "$f"; then echo "$f"; fi; done)
  if [ ${#files[@]} != 0 ]; then
    step "gofumpt"
    local unformatted
    unformatted=$(gofumpt -l "${files[@]}")
    [ -z "$unformatted" ] || die "run gofumpt -w on: $unformatted"
  fi
  mapfile -t packages < <(packages_of_changes)
  if changed_in go.mod go.sum; then packages=(./...); fi
  if [ ${#packages[@]} != 0 ]; then
    step "go vet of everything"
    go vet -tags e2e ./...
    step "staticcheck of ${#packages[@]} changed packages"
    staticcheck -tags e2e "${packages[@]}"
    step "tests of ${#packages[@]} changed packages"
    RAPID_SEED=${RAPID_SEED:-20261121} go test "${packages[@]}"
    # Packages whose code or tests import a changed one. Others can only notice by way of these, and were compiled above.
    mapfile -t dependents < <(importers "${packages[@]}")
    if [ ${#dependents[@]} != 0 ]; then
      step "short tests of ${#dependents[@]} packages that import them"
      short_tests "${dependents[@]}"
    fi
  fi
  if changed_in 'internal/testtool/program/*'; then
    step "gantry-testserver and gantry-testreader"
    in_dir internal/testtool/program go vet ./...
    in_dir internal/testtool/program staticcheck ./...
    go test ./internal/testtool
  fi
  if changed_in 'scripts/plots/*' 'docs/reports/*'; then
    step "the pictures of reports"
    in_dir scripts/plots go vet ./...
    in_dir scripts/plots staticcheck ./...
    in_dir scripts/plots go test ./...
  fi
  if changed_in 'packaging/compose/*'; then
    step "the compose file"
    in_dir packaging/compose go vet ./...
    in_dir packaging/compose staticcheck ./...
    in_dir packaging/compose go test ./...
  fi
  if changed_in 'packaging/helm/*'; then
    step "the Helm charts"
    in_dir packaging/helm go vet ./...
    in_dir packaging/helm staticcheck ./...
    in_dir packaging/helm go test ./...
  fi
  if changed_in 'integrations/kubernetes/*'; then
    step "the node of a Kubernetes cluster"
    in_dir integrations/kubernetes go vet ./...
    in_dir integrations/kubernetes staticcheck ./...
    in_dir integrations/kubernetes go test ./...
  fi
  local integration
  for integration in ray skypilot dstack; do
    if changed_in "integrations/$integration/*" 'clients/python/*' && have "$integration-python" && have gantry-python; then
      "$root/scripts/clients.sh" generate "$integration"
    fi
  done
  if changed_in 'clients/kit/*' 'clients/rust/*' clients/vectors.json idl/gantry_market.json && have npm; then
    "$root/scripts/clients.sh" program
  fi
  step "layers, links and paths on pages"
  go test ./internal/layering ./internal/pages
}

importers() { # PACKAGE...: the import paths of other packages that import one of them
  local format='{{.ImportPath}}{{range .Imports}} {{.}}{{end}}{{range .TestImports}} {{.}}{{end}}{{range .XTestImports}} {{.}}{{end}}'
  local names
  names=$(go list "$@")
  go list -f "$format" ./... | awk -v names="$names" '
    BEGIN { n = split(names, list, "\n"); for (i = 1; i <= n; i++) own[list[i]] = 1 }
    { if ($1 in own) next; for (i = 2; i <= NF; i++) if ($i in own) { print $1; break } }'
}

# short_tests PACKAGE...: fails when a test fails, and says so when time ran out. timeout makes a process group of its
# own, so that no test binary outlives it; an interrupt is passed on.
short_tests() {
  local status=0 seconds=${CHECK_SECONDS:-120} log=build/logs/check.log
  RAPID_SEED=${RAPID_SEED:-20261121} timeout "$seconds" go test -short "$@" >"$log" 2>&1 &
  local runner=$!
  # shellcheck disable=SC2064
  trap "kill $runner; exit 130" INT TERM
  tail -f --pid="$runner" "$log" &
  wait "$runner" || status=$?
  wait
  trap - INT TERM
  [ "$status" != 0 ] || return 0
  ! grep -q '^FAIL' "$log" || die "tests of packages that import the changed ones failed, see build/logs/check.log"
  [ "$status" = 124 ] || die "go test ended with $status"
  say "CUT OFF after $seconds s: what is not listed above as ok was not tested (CHECK_SECONDS for longer; make test runs all)"
}

check_program() { # [TEST...]: all tests but the random sequences, or those whose names contain one of the words
  [ $# -gt 0 ] || set -- --skip hostile:: # they take minutes; make test and make hostile run them
  "$root/scripts/toolchain.sh" host
  "$root/scripts/governance.sh"
  step "program: format and tests"
  cargo "+$RUST_SBF" fmt --check --manifest-path program/Cargo.toml
  cargo "+$RUST_SBF" fmt --check --manifest-path program/framework/Cargo.toml
  cargo "+$RUST_HOST" fmt --check --manifest-path program/tests/Cargo.toml
  cached_test "$(program_tests_target)" "program/src program/framework program/tests" program/tests "--test all" "$@"
}

check_go
if changed_in 'program/*' 'idl/*'; then
  check_program
elif changed_in 'docs/protocol/*' 'docs/reports/compute-units.md' 'docs/reports/governance.md'; then
  check_program money_flow powers formulas::the_table bench::the_document holders::figures # the tests that read these pages
fi
if changed_in 'scripts/*.sh' 'program/sbf/*.sh' 'program/governance/*.sh' 'packaging/*.sh' && have shellcheck; then
  step "shellcheck"
  shellcheck -x scripts/*.sh program/sbf/*.sh program/governance/*.sh packaging/*.sh packaging/scripts/*.sh
fi
say "check: everything is clean, in $((SECONDS - began)) s"
