package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdxlib"
)

// The image of one commit is the same from any checkout. What a registry returns of it is an image that runs as its user, on a root that nobody
// can write to, as Kubernetes runs it with the settings of deploy/deployment.
func TestImage(t *testing.T) {
	reg := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	defer reg.Close()
	ref := strings.TrimPrefix(reg.URL, "http://") + "/linkwright:v1"

	sources, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	first := imageOf(t, checkout(t, sources), "-push", ref)
	if second := imageOf(t, checkout(t, sources)); second != first {
		t.Errorf("two builds of one commit: %s and %s", first, second)
	}
	index, image := pull(t, ref)
	if got, err := index.Digest(); err != nil || got.String() != first {
		t.Errorf("the registry has %v, %v, want %s", got, err, first)
	}
	if err := errors.Join(validate.Index(index), validate.Image(image)); err != nil {
		t.Error(err)
	}
	if size, err := unpacked(image); err != nil || size > 60e6 {
		t.Errorf("unpacked: %d bytes, %v, want at most 60 MB", size, err)
	}
	testSBOM(t, ref, image)
	root := unpack(t, image)
	testRoots(t, root)
	testRun(t, root, image)
}

// imageOf builds the image for this machine's platform in a checkout, and returns the digest of the index.
func imageOf(t *testing.T, dir string, args ...string) string {
	t.Helper()
	t.Chdir(dir)
	var out bytes.Buffer
	if err := run(t.Context(), append([]string{"-platforms", "linux/" + runtime.GOARCH}, args...), &out); err != nil {
		t.Fatal(err)
	}
	path, err := layout.FromPath(filepath.Join("bin/image", layoutName))
	if err != nil {
		t.Fatal(err)
	}
	all, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := all.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("index.json: %v, %v", manifest, err)
	}
	digest := manifest.Manifests[0].Digest.String()
	if !strings.HasPrefix(out.String(), digest) {
		t.Errorf("printed %q, want the digest %s first", out.String(), digest)
	}
	return digest
}

// checkout is a Git checkout of the sources, with one commit of a time of its own. The sources may be no checkout, or one with changes.
func checkout(t *testing.T, sources string) string {
	t.Helper()
	dir := t.TempDir()
	copySources(t, sources, dir)
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "sources"}} {
		c := exec.CommandContext(t.Context(), "git", append([]string{"-c", "core.autocrlf=false", "-c", "commit.gpgsign=false"}, args...)...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a",
			"GIT_COMMITTER_EMAIL=a@example.com", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

func copySources(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin", "tmp"}, name):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), body, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func pull(t *testing.T, ref string) (v1.ImageIndex, v1.Image) {
	t.Helper()
	parsed, err := name.ParseReference(ref)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(parsed)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(parsed, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}))
	if err != nil {
		t.Fatal(err)
	}
	return index, image
}

// The SBOM in the registry is about the image, is valid, and names every module of the program.
func testSBOM(t *testing.T, ref string, image v1.Image) {
	t.Helper()
	parsed, err := name.ParseReference(ref)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	about, err := remote.Referrers(parsed.Context().Digest(digest.String()))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := about.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 || manifest.Manifests[0].ArtifactType != sbomType {
		t.Fatalf("referrers: %+v, %v, want one of %s", manifest, err, sbomType)
	}
	raw, err := os.ReadFile("bin/image/linkwright-linux-" + runtime.GOARCH + ".spdx.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Read(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := spdxlib.ValidateDocument(doc); err != nil {
		t.Error(err)
	}
	p, err := read(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}, "bin/image/build/linux-"+runtime.GOARCH+"/linkwright")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range p.Info.Deps {
		if !slices.ContainsFunc(doc.Packages, func(q *spdx.Package) bool { return q.PackageName == m.Path && q.PackageVersion == m.Version }) {
			t.Errorf("the SBOM has no %s %s", m.Path, m.Version)
		}
	}
}

// unpack unpacks an image as a container runtime does, with its modes.
func unpack(t *testing.T, image v1.Image) string {
	t.Helper()
	root := t.TempDir()
	flat := mutate.Extract(image)
	defer func() { _ = flat.Close() }() // all of it is read
	for r := tar.NewReader(flat); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return root
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			var body []byte
			if body, err = io.ReadAll(r); err == nil {
				err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, body, 0o600))
			}
		}
		if err := errors.Join(err, os.Chmod(path, h.FileInfo().Mode())); err != nil {
			t.Fatal(err)
		}
	}
}

func testRoots(t *testing.T, root string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, caBundle))
	if err != nil {
		t.Fatal(err)
	}
	if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM(raw) || bytes.Count(raw, []byte("BEGIN CERTIFICATE")) < 100 {
		t.Errorf("%d certificates, want those that browsers trust", bytes.Count(raw, []byte("BEGIN CERTIFICATE")))
	}
}

// testRun runs the program with the root of the image, which is mounted read-only, as the user of the image. An overlay needs the most of it: linkwright starts
// itself again in a sandbox.
func testRun(t *testing.T, root string, image v1.Image) {
	t.Helper()
	if err := exec.CommandContext(t.Context(), "unshare", "--mount", "true").Run(); err != nil {
		t.Skipf("this machine does not let this user mount anything (%v), so the image is not run on a read-only root", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(root, "declarations"), os.DirFS("examples/overlay")); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"version":                config.Config.Labels["org.opencontainers.image.version"],
		"validate /declarations": "valid",
	} {
		out := runIn(t.Context(), t, root, config.Config, strings.Fields(args)...)
		t.Logf("linkwright %s: %s", args, out)
		if !strings.Contains(out, want) {
			t.Errorf("linkwright %s: %s\nwant %q in it", args, out, want)
		}
	}
}

// inRoot mounts what a container has: its root, read-only, and an empty /tmp and /proc. Writing to the root must fail.
const inRoot = `set -e
root=$1 user=$2; shift 2
mkdir -p "$root/proc"
mount --bind "$root" "$root"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
mount --rbind /proc "$root/proc"
mount -o remount,ro,bind "$root"
if touch "$root/written" 2>/dev/null; then echo "the root can be written to"; exit 1; fi
exec chroot --userspec="$user" "$root" "$@"`

func runIn(ctx context.Context, t *testing.T, root string, c v1.Config, args ...string) string {
	t.Helper()
	command := append([]string{"--mount", "sh", "-c", inRoot, "sh", root, c.User}, c.Entrypoint...)
	x := exec.CommandContext(ctx, "unshare", append(command, args...)...)
	x.Env = append(slices.Clone(c.Env), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	out, err := x.CombinedOutput()
	if err != nil {
		t.Errorf("linkwright %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func TestReference(t *testing.T) {
	for text, want := range map[string]string{
		"linkwright": "write REGISTRY/REPOSITORY:TAG",
		"registry.example.com/linkwright@sha256:" + strings.Repeat("0", 64): "write a tag",
	} {
		if _, err := reference(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("reference(%q): %v, want %q", text, err, want)
		}
	}
}
