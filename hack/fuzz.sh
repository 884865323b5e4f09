#!/usr/bin/env bash
# Runs every fuzz target of the tree for a while: hack/fuzz.sh [DURATION, such as 10s or 10m] [PACKAGES such as ./api].
# What one finds stands in that package's testdata/fuzz afterwards: commit it with the mend.
set -euo pipefail
cd "$(dirname "$0")/.."

duration=${1:-10s}
shift || true
targets=$(grep -rhoE --include='*_test.go' '^func Fuzz[A-Za-z0-9]+' --with-filename "${@:-.}" | sed 's/^\(.*\)\/[^/]*:func /\1 /' | sort)
[ -n "$targets" ] || { echo "there is no fuzz target below ${*:-.}" >&2; exit 1; }

go=${GO:-go}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
log=$tmp/log

# Before Go 1.27 it may be called a failure that the time was over while a worker was answering (golang/go#75804). Such a run has
# nothing but that to say: what really fails is written down below testdata, and told with where.
overdue() {
	grep -qxE '[[:space:]]*context deadline exceeded' "$log" && ! grep -qE 'Failing input|panic:|minimiz|terminated|_test\.go:[0-9]+:' "$log"
}

failed=()
built=
while read -r dir target; do
	# Each package is linked once, not once for each of its targets.
	if [ "$built" != "$dir" ]; then
		"$go" test -c -vet=off -fuzz . -o "$tmp/test" "./${dir#./}"
		built=$dir corpus=$("$go" env GOCACHE)/fuzz/$("$go" list "./${dir#./}")
	fi
	echo "== $dir $target for $duration"
	# Two workers leave a small machine room for the process that leads them.
	(cd "$dir" && "$tmp/test" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$duration" -test.fuzzcachedir "$corpus" \
		-test.parallel "${PARALLEL:-2}" </dev/null) 2>&1 | tee "$log" && continue
	overdue && echo "nothing found: only its time was over" && continue
	failed+=("$dir $target")
done <<<"$targets"

if [ "${#failed[@]}" -gt 0 ]; then
	printf 'found something: %s\n' "${failed[@]}" >&2
	exit 1
fi
