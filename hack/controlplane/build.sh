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
if [ -x "$bin/controlplane" ] && [ -x "$bin/kwok" ]; then
	echo "building bin/controlplane and bin/kwok again, because their sources or the Go release may have changed" >&2
else
	echo "building bin/controlplane and bin/kwok (5 to 9 minutes, if Go has not built their packages before)" >&2
fi
rm -f "$stamp"
out=$(mktemp -d "$bin/.build.XXXXXX")
trap 'rm -rf "$out"' EXIT INT TERM
before=$(current)

# The components' clock may go wrong by as much as clock.go says: time.Now is
# the one of the toolchain, with runtime.ahead added. Of a toolchain whose
# runtime does not look as expected nothing is replaced: its clock is fixed, and
# tests that need another one skip themselves.
runtime=$(go env GOROOT)/src/runtime
overlay="$out/clock"
mkdir "$overlay"
once() { # once FILE PATTERN: exactly one line of the file is like that
	[ -f "$1" ] && [ "$(grep -c "$2" "$1")" = 1 ]
}
clock=fixed
replaced=
case $(go env GOOS)/$(go env GOARCH) in
linux/amd64)
	if once "$runtime/time_linux_amd64.s" '^TEXT time·now<ABIInternal>(SB)' &&
		once "$runtime/timeasm.go" '^func ' &&
		once "$runtime/timeasm.go" '^func time_now() (sec int64, nsec int32, mono int64)$'; then
		clock=moves
		sed 's/^TEXT time·now<ABIInternal>/TEXT ·clock<ABIInternal>/' "$runtime/time_linux_amd64.s" >"$overlay/clock.s"
		cat >"$overlay/clock.go" <<-EOF
			package runtime

			import _ "unsafe"

			//go:linkname ahead
			var ahead int64

			func clock() (sec int64, nsec int32, mono int64)

			//go:linkname time_now time.now
			func time_now() (sec int64, nsec int32, mono int64) {
				sec, nsec, mono = clock()
				return sec + ahead, nsec, mono
			}
		EOF
		replaced="\"$runtime/time_linux_amd64.s\": \"$overlay/clock.s\", \"$runtime/timeasm.go\": \"$overlay/clock.go\""
	fi
	;;
*)
	if once "$runtime/timestub.go" '^	return sec, nsec, nanotime()$'; then
		clock=moves
		sed 's/^\treturn sec, nsec, nanotime()$/\treturn sec + ahead, nsec, nanotime()/' "$runtime/timestub.go" >"$overlay/clock.go"
		printf '\n//go:linkname ahead\nvar ahead int64\n' >>"$overlay/clock.go"
		replaced="\"$runtime/timestub.go\": \"$overlay/clock.go\""
	fi
	;;
esac
if [ "$clock" = fixed ]; then
	echo "the clock of these control planes is the machine's: $(go env GOVERSION) is not one that this script can change" >&2
fi
printf '{"Replace": {%s}}\n' "$replaced" >"$overlay/overlay.json"

go build -trimpath -tags "clock_$clock" -overlay "$overlay/overlay.json" -ldflags='-s -w' -o "$out/" . sigs.k8s.io/kwok/cmd/kwok
mv "$out/controlplane" "$out/kwok" "$bin/"
echo "$clock" >"$bin/.controlplane.clock"
printf '%s\n' "$before" >"$stamp"
