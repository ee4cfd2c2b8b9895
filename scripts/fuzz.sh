#!/usr/bin/env bash
# Runs every fuzz target of the repository for a while, one after the other, with one worker.
# usage: fuzz.sh [DURATION [PACKAGE...]]   DURATION as Go writes it, 30s by default; ./... by default
# Minimising stops after 20 tries: by default Go minimises for up to a minute, also beyond the duration.
# A crash leaves its input in the package's testdata/fuzz, where the ordinary tests run it from then on.
source "$(dirname "$0")/common.sh"
"$root/scripts/toolchain.sh" go
cd "$root"
duration=${1:-30s}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- ./...

# Only packages whose tests have a target are built.
packages=()
while IFS=$'\t' read -r package dir; do
  if grep -qsE '^func Fuzz[A-Z]' "$dir"/*_test.go; then packages+=("$package"); fi
done < <(go list -f '{{.ImportPath}}{{"\t"}}{{.Dir}}' "$@")
[ ${#packages[@]} -gt 0 ] || die "no fuzz target in $*"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
fuzz() { # PACKAGE TARGET
  go test "$1" -run '^$' -fuzz "^$2\$" -fuzztime "$duration" -fuzzminimizetime 20x -parallel 1 2>&1 | tee "$log"
}
# Go sometimes reports its own deadline as the target's failure, https://go.dev/issue/75804: the whole failure is then
# this line, with no failing input.
deadline_only() {
  grep -qE '^ +context deadline exceeded$' "$log" && ! grep -qE 'Failing input written|panic:|fuzzing process (hung|terminated)' "$log"
}

failed=() count=0
for package in "${packages[@]}"; do
  for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz'); do
    step "$target in ${package#github.com/gantry-market/gantry/} for $duration"
    count=$((count + 1))
    fuzz "$package" "$target" && continue
    if deadline_only; then
      say "once more: Go ended the run with its own deadline"
      fuzz "$package" "$target" && continue
    fi
    failed+=("$package $target")
  done
done
for f in ${failed[@]+"${failed[@]}"}; do say "FAILED $f"; done
[ ${#failed[@]} -eq 0 ] || die "${#failed[@]} of $count fuzz targets failed"
say "all $count fuzz targets ran for $duration without a failure"
