#!/usr/bin/env bash
# Builds everything that a release of the checked out commit publishes, into bin/release: hack/release/build.sh GORELEASER.
# BASE_URL, in the environment, is the address of the directory that the archives will be published in: it goes into the krew manifest.
#
# Two builds of one commit by one version of Go are equal byte for byte.
set -euo pipefail
cd "$(dirname "$0")/../.."

fail() { # fail MESSAGE
	echo "release: $1" >&2
	exit 1
}

[ "$#" -eq 1 ] || fail "usage: hack/release/build.sh GORELEASER"
goreleaser=$(realpath -e -- "$1")
[ -d .git ] || fail "$PWD is not a Git checkout of its own: Go records the commit only in a clone, not in a worktree or an unpacked archive"
changes=$(git status --porcelain)
[ -z "$changes" ] || fail "these files differ from the commit; commit them, or remove them with git stash --include-untracked:
$changes"

go=${GO:-go}
out=bin/release stage=bin/release-stage
rm -rf "$out" "$stage"
mkdir -p "$out" "$stage"/{completions,man1,man1.gz}

# The version is the one that Go records: the tag of the commit, or else a pseudo-version of its time and hash.
program=$stage/linkwright
CGO_ENABLED=0 "$go" build -buildvcs=true -trimpath -ldflags='-s -w' -o "$program" ./cmd/linkwright
version=$("$program" version -o jsonpath='{.version}')
case $version in
v[0-9]*+dirty | "(devel)") fail "Go recorded the version $version, which names no commit" ;;
v[0-9]*) ;;
*) fail "Go recorded the version \"$version\", want vMAJOR.MINOR.PATCH" ;;
esac

"$program" completion bash >"$stage/completions/linkwright.bash"
"$program" completion fish >"$stage/completions/linkwright.fish"
"$program" completion zsh >"$stage/completions/_linkwright"
"$program" man --write "$stage/man1"
for page in "$stage"/man1/*; do
	gzip -9n <"$page" >"$stage/man1.gz/${page##*/}.gz"
done

"$go" build -C hack/image -o "$PWD/bin/image-builder" .
bin/image-builder -out "$stage/image"
"$go" build -C hack/chart -o "$PWD/bin/chart-builder" .
bin/chart-builder -out "$out"

if [ -z "${BASE_URL:-}" ]; then
	BASE_URL=https://downloads.example.com/linkwright/$version
	echo "release: BASE_URL is not set: the krew manifest has placeholders, addresses below $BASE_URL" >&2
fi
# A snapshot publishes nothing and asks no server. The version is given as the tag, because GoReleaser makes none of a commit.
BASE_URL=${BASE_URL%/} GORELEASER_CURRENT_TAG=$version "$goreleaser" release --snapshot --clean

mv "$stage"/dist/*.tar.gz "$stage"/dist/*.deb "$stage"/dist/*.rpm "$out"
mv "$stage/dist/krew/linkwright.yaml" "$out/kubectl-linkwright.yaml"
mv "$stage/image/linkwright.tar" "$out/linkwright_${version#v}_image.tar"
rm -rf "$stage"
(cd "$out" && sha256sum -- * >../checksums.txt && mv ../checksums.txt .)
ls -l "$out"
