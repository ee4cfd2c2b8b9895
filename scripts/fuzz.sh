#!/usr/bin/env bash
# Runs every fuzz target of the repository for a while, one after the other, with one worker.
# usage: fuzz.sh [DURATION [PACKAGE...]]   DURATION as Go writes it, 30s by default; ./... by default
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

failed=() count=0
for package in "${packages[@]}"; do
  for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz'); do
    step "$target in ${package#github.com/gantry-market/gantry/} for $duration"
    count=$((count + 1))
    go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$duration" -parallel 1 || failed+=("$package $target")
  done
done
for f in ${failed[@]+"${failed[@]}"}; do say "FAILED $f"; done
[ ${#failed[@]} -eq 0 ] || die "${#failed[@]} of $count fuzz targets failed"
say "all $count fuzz targets ran for $duration without a failure"
