#!/usr/bin/env bash
# Checks the English of all pages with Vale: length of sentences, and the patterns of .vale/Gantry.
# usage: prose.sh [FILE...]   (default: every .md file that git tracks)
source "$(dirname "$0")/common.sh"
cd "$root"
"$root/scripts/toolchain.sh" prose
wrong_page=.vale/wrong.md # sentences that the style must find
mapfile -t pages < <(git ls-files '*.md' ":!$wrong_page")
[ ${#pages[@]} -gt 0 ] || die "git lists no pages"
wrong=$(vale --output=line "$wrong_page" || true) # a style that finds nothing says nothing
for rule in Length Patterns; do
  grep -q "Gantry.$rule" <<<"$wrong" || die "Vale does not apply the rule Gantry.$rule"
done
[ $# -gt 0 ] || set -- "${pages[@]}"
vale --output=line "$@" || die "the sentences above are hard to read: see Plain English in docs/contributing.md"
say "$# pages are plain"
