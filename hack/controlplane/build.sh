#!/bin/sh
# Builds bin/controlplane and bin/kwok, the binaries that package testbed
# starts. Does nothing when bin/ holds them, built from these very sources.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=${LINKWRIGHT_BIN:-$here/../../bin}
mkdir -p "$bin"
bin=$(cd "$bin" && pwd)
cd "$here"

stamp=$bin/.controlplane.stamp
current() {
	go env GOVERSION GOOS GOARCH CGO_ENABLED
	sha256sum build.sh go.mod go.sum ./*.go ./*.yaml
}
built() {
	[ -x "$bin/controlplane" ] && [ -x "$bin/kwok" ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(current)" ]
}

built && exit 0
# Two builds at once would each take all the memory there is.
exec 9>"$bin/.controlplane.lock"
if command -v flock >/dev/null; then
	flock 9
	built && exit 0
fi
echo "building bin/controlplane and bin/kwok (5 to 9 minutes the first time)" >&2
rm -f "$stamp"
out=$(mktemp -d "$bin/.build.XXXXXX")
trap 'rm -rf "$out"' EXIT INT TERM
before=$(current)
go build -trimpath -ldflags='-s -w' -o "$out/" . sigs.k8s.io/kwok/cmd/kwok
mv "$out/controlplane" "$out/kwok" "$bin/"
printf '%s\n' "$before" >"$stamp"
