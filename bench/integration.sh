#!/usr/bin/env bash
# Runs the heavy tests: those of the files with the build tag "integration",
# found by that tag so that none is left out. One package after the other: two
# API servers, browsers or guests would share the machine's few cores.
# make integration builds what they need.
set -eu -o pipefail
cd "$(dirname "$0")/.."

tag='^//go:build integration( && linux)?$'
tagged() { grep -lE "$tag" "$1"/*_test.go; }

failed=()
while IFS= read -r pkg; do
  mapfile -t files < <(tagged "$pkg")
  names=$(sed -nE 's/^func (Test[A-Za-z0-9_]+)\([a-z]+ \*testing\.T\).*/\1/p' "${files[@]}" | paste -sd'|')
  printf '== heavy tests of %s\n' "$pkg"
  began=$SECONDS
  "${GO:-go}" test -tags integration -count 1 -timeout 25m -run "^($names)\$" "./$pkg" || failed+=("$pkg")
  printf '== heavy tests of %s: %ds\n' "$pkg" $((SECONDS - began))
done < <(grep -rlE "$tag" --include='*_test.go' bench cmd nodeexec portal | xargs -n1 dirname | sort -u)

if [[ ${#failed[@]} -gt 0 ]]; then
  printf 'FAILED: %s\n' "${failed[@]}" >&2
  exit 1
fi
