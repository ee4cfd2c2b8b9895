#!/usr/bin/env bash
# Builds the documentation's site into build/site, with a search and llms.txt, and fails when a link or an anchor leads nowhere.
# usage: docs.sh [serve]
source "$(dirname "$0")/common.sh"
"$root/scripts/toolchain.sh" docs
have docs-python && [ -f "$cache/mermaid/$MERMAID.js" ] || die "the site needs Python 3.11 or newer with venv, and npm (on Debian: sudo apt-get install -y --no-install-recommends python3-venv nodejs npm)"
cd "$root"
rm -rf build/docs && mkdir -p build/docs/assets
git ls-files -z --cached --others --exclude-standard -- '*.md' '*.png' '*.svg' ':!.github' ':!**/testdata/**' ':!web' | xargs -0 cp --parents -t build/docs
cp "$cache/mermaid/$MERMAID.js" build/docs/assets/mermaid.min.js
if [ "${1:-}" = serve ]; then exec docs-python -m mkdocs serve; fi
NO_MKDOCS_2_WARNING=1 docs-python -m mkdocs build --strict 2>&1 | { grep -v "^INFO" || true; } >&2 # with --quiet, --strict notices nothing
say "build/site: $(find build/site -name '*.html' | wc -l) pages, $(grep -c '^- ' build/site/llms.txt) of them in llms.txt"
