#!/usr/bin/env bash
# Checks the English of what people read first with Vale: length of sentences, and the patterns of .vale/Gantry.
# usage: prose.sh [FILE...]   (default: the pages below; prose.sh $(git ls-files '*.md') shows what is left elsewhere)
source "$(dirname "$0")/common.sh"
cd "$root"
"$root/scripts/toolchain.sh" prose
pages=(README.md CONTRIBUTING.md LIMITATIONS.md ./{client,agent,keeper,sdk}/README.md
  docs/{README,architecture,questions,glossary}.md docs/tutorials/*.md docs/operate/*.md)
wrong=$(vale --output=line .vale/wrong.md || true) # a style that finds nothing says nothing
for rule in Length Patterns; do
  grep -q "Gantry.$rule" <<<"$wrong" || die "Vale does not apply the rule Gantry.$rule"
done
[ $# -gt 0 ] || set -- "${pages[@]}"
vale --output=line "$@" || die "the sentences above are hard to read: see Plain English in docs/contributing.md"
say "$# pages are plain"
