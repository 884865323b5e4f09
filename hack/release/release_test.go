// Package release tests what hack/release/build.sh builds.
package release

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const baseURL = "https://downloads.example.org/v1"

// A checkout that differs from its commit is not released. The error names the files, and nothing is built.
func TestChanges(t *testing.T) {
	dir := t.TempDir()
	script, err := os.ReadFile("build.sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "hack/release"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hack/release/build.sh"), script, 0o755); err != nil { //nolint:gosec // a script
		t.Fatal(err)
	}
	if out, err := in(t, dir, "hack/release/build.sh", "/bin/true"); err == nil || !strings.Contains(out, "not a Git checkout") {
		t.Errorf("without a repository: %v\n%s", err, out)
	}
	must(t, dir, "git", "init", "--quiet")
	out, err := in(t, dir, "hack/release/build.sh", "/bin/true")
	if err == nil || !strings.Contains(out, "?? hack/") || !strings.Contains(out, "commit them") {
		t.Errorf("with a new file: %v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "bin")); !os.IsNotExist(err) {
		t.Errorf("bin: %v, want nothing built", err)
	}
}

// Two builds of one commit, in two clones, are equal byte for byte. Each file is what it should be, and what is packed in it runs.
func TestRelease(t *testing.T) {
	tool := os.Getenv("LINKWRIGHT_RELEASE")
	if tool == "" {
		t.Skip("the release is built by make release-test, which sets LINKWRIGHT_RELEASE to GoReleaser")
	}
	first, second := build(t, tool, "a"), build(t, tool, "another/directory")
	files, again := sums(t, first), sums(t, second)
	for name, sum := range files {
		if again[name] != sum {
			t.Errorf("two builds of %s: %s and %s", name, sum, again[name])
		}
	}
	if len(again) != len(files) {
		t.Errorf("two builds: %d and %d files", len(files), len(again))
	}
	version := versionOf(t, files)
	want := []string{"checksums.txt", "kubectl-linkwright.yaml", "linkwright_" + version + "_image.tar"}
	for _, arch := range []string{"amd64", "arm64"} {
		for _, end := range []string{"linux_" + arch + ".tar.gz", "darwin_" + arch + ".tar.gz", "linux_" + arch + ".deb", "linux_" + arch + ".rpm"} {
			want = append(want, "linkwright_"+version+"_"+end)
		}
	}
	for _, name := range want {
		if files[name] == "" {
			t.Errorf("no %s in %v", name, files)
		}
	}
	if len(files) != len(want)+1 { // and the chart, which has a version of its own
		t.Errorf("%d files, want %d and the chart", len(files), len(want))
	}
	t.Run("checksums", func(t *testing.T) { testChecksums(t, first, files) })
	t.Run("krew", func(t *testing.T) { testKrew(t, first, version, files) })
	t.Run("archives", func(t *testing.T) { testArchives(t, first, version) })
	t.Run("deb", func(t *testing.T) { testDeb(t, first, version) })
	t.Run("rpm", func(t *testing.T) { testRPM(t, first, version) })
}

// build clones the repository, builds its last commit, and returns the directory of the results.
func build(t *testing.T, tool, name string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), name)
	must(t, root, "git", "clone", "--quiet", root, dir)
	t.Log(must(t, dir, "env", "BASE_URL="+baseURL, "hack/release/build.sh", tool))
	return filepath.Join(dir, "bin/release")
}

// sums returns the SHA-256 of each file in a directory.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		body, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(body)
		out[e.Name()] = hex.EncodeToString(sum[:])
		t.Logf("%s  %s, %.1f MB", out[e.Name()], e.Name(), float64(len(body))/1e6)
	}
	return out
}

// versionOf returns the version in the names of files.
func versionOf(t *testing.T, files map[string]string) string {
	t.Helper()
	for name := range files {
		if version, ok := strings.CutSuffix(name, "_image.tar"); ok {
			return strings.TrimPrefix(version, "linkwright_")
		}
	}
	t.Fatalf("no image in %v", files)
	return ""
}

func testChecksums(t *testing.T, dir string, files map[string]string) {
	out := must(t, dir, "sha256sum", "--check", "--strict", "checksums.txt")
	for name := range files {
		if name != "checksums.txt" && !strings.Contains(out, name+": OK\n") {
			t.Errorf("checksums.txt has no %s:\n%s", name, out)
		}
	}
}

// krewPlugin is what the test reads of a manifest of krew.
type krewPlugin struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		Version, ShortDescription, Description, Homepage string
		Platforms                                        []krewPlatform
	}
}

type krewPlatform struct {
	URI, SHA256, Bin string
	Selector         struct{ MatchLabels struct{ OS, Arch string } }
}

func testKrew(t *testing.T, dir, version string, files map[string]string) {
	raw, err := os.ReadFile(filepath.Join(dir, "kubectl-linkwright.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var p krewPlugin
	if err := yaml.Unmarshal(raw, &p); err != nil {
		t.Fatal(err)
	}
	if p.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || p.Kind != "Plugin" || p.Metadata.Name != "linkwright" ||
		p.Spec.Version != "v"+version || p.Spec.ShortDescription == "" || p.Spec.Description == "" || p.Spec.Homepage == "" {
		t.Errorf("manifest: %+v", p)
	}
	var platforms []string
	for _, platform := range p.Spec.Platforms {
		labels := platform.Selector.MatchLabels
		platforms = append(platforms, labels.OS+"/"+labels.Arch)
		archive := fmt.Sprintf("linkwright_%s_%s_%s.tar.gz", version, labels.OS, labels.Arch)
		if platform.URI != baseURL+"/"+archive || platform.SHA256 != files[archive] || platform.Bin != "linkwright" {
			t.Errorf("%+v, want %s with %s", platform, archive, files[archive])
		}
	}
	slices.Sort(platforms)
	if want := []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64"}; !slices.Equal(platforms, want) {
		t.Errorf("platforms %v, want %v", platforms, want)
	}
}

// packed are files that an archive must have.
func packed() []string {
	return []string{"linkwright", "LICENSE", "README.md", "completions/linkwright.bash", "completions/linkwright.fish", "completions/_linkwright", "man/man1/linkwright.1", "man/man1/linkwright-sync.1"}
}

func testArchives(t *testing.T, dir, version string) {
	for _, system := range []string{"linux", "darwin"} {
		for _, arch := range []string{"amd64", "arm64"} {
			list := must(t, dir, "tar", "-tvzf", fmt.Sprintf("linkwright_%s_%s_%s.tar.gz", version, system, arch))
			for _, name := range packed() {
				mode := "-rw-r--r-- root/root"
				if name == "linkwright" {
					mode = "-rwxr-xr-x root/root"
				}
				if !hasLine(list, mode, " "+name) {
					t.Errorf("%s/%s: no line %s … %s in\n%s", system, arch, mode, name, list)
				}
			}
		}
	}
	to := t.TempDir()
	must(t, dir, "tar", "-xzf", fmt.Sprintf("linkwright_%s_linux_%s.tar.gz", version, runtime.GOARCH), "-C", to)
	testProgram(t, filepath.Join(to, "linkwright"), version)
}

// testProgram runs a program, and looks for its version and its commit.
func testProgram(t *testing.T, program, version string) {
	t.Helper()
	if out := must(t, ".", program, "--version"); !strings.HasPrefix(out, "linkwright v"+version+" ") {
		t.Errorf("--version: %s, want %s", out, version)
	}
	commit := strings.TrimSpace(must(t, "../..", "git", "rev-parse", "HEAD"))
	if out := must(t, ".", program, "version", "-o", "json"); !strings.Contains(out, commit) || !strings.Contains(out, `"clean"`) {
		t.Errorf("version: %s, want %s, clean", out, commit)
	}
}

// installed are files that a package installs on every distribution.
func installed() []string {
	return []string{
		"/usr/bin/linkwright", "/usr/share/man/man1/linkwright-sync.1.gz", "/usr/share/doc/linkwright/copyright",
		"/usr/share/bash-completion/completions/linkwright", "/usr/share/fish/vendor_completions.d/linkwright.fish",
	}
}

func testDeb(t *testing.T, dir, version string) {
	need(t, "dpkg-deb")
	for _, arch := range []string{"amd64", "arm64"} {
		deb := fmt.Sprintf("linkwright_%s_linux_%s.deb", version, arch)
		if info := must(t, dir, "dpkg-deb", "--info", deb); !hasLine(info, " Package: linkwright", "") || !hasLine(info, " Architecture: "+arch, "") ||
			!hasLine(info, " Version: "+strings.Replace(version, "-", "~", 1), "") {
			t.Errorf("%s: %s", deb, info)
		}
		list := must(t, dir, "dpkg-deb", "--contents", deb)
		for _, name := range append(installed(), "/usr/share/zsh/vendor-completions/_linkwright") {
			if !hasLine(list, "-rw", " ."+name) {
				t.Errorf("%s: no %s in\n%s", deb, name, list)
			}
		}
	}
	root := t.TempDir()
	must(t, dir, "dpkg-deb", "--extract", fmt.Sprintf("linkwright_%s_linux_%s.deb", version, runtime.GOARCH), root)
	testProgram(t, filepath.Join(root, "usr/bin/linkwright"), version)
	if page := must(t, root, "gzip", "-dc", "usr/share/man/man1/linkwright-sync.1.gz"); !strings.Contains(page, ".TH") || !strings.Contains(page, version) {
		t.Errorf("manual page:\n%s", page)
	}
}

func testRPM(t *testing.T, dir, version string) {
	need(t, "rpm")
	for arch, rpmArch := range map[string]string{"amd64": "x86_64", "arm64": "aarch64"} {
		rpm := fmt.Sprintf("linkwright_%s_linux_%s.rpm", version, arch)
		info := must(t, dir, "rpm", "--query", "--package", "--nosignature", "--queryformat", "%{NAME} %{ARCH} %{BUILDHOST} %{LICENSE}\n", rpm)
		if info != "linkwright "+rpmArch+" localhost Apache-2.0\n" {
			t.Errorf("%s: %s", rpm, info)
		}
		list := must(t, dir, "rpm", "--query", "--package", "--nosignature", "--list", "--verbose", rpm)
		for _, name := range append(installed(), "/usr/share/zsh/site-functions/_linkwright") {
			if !hasLine(list, "-rw", " "+name) {
				t.Errorf("%s: no %s in\n%s", rpm, name, list)
			}
		}
	}
}

// hasLine reports whether a line of text begins and ends so.
func hasLine(text, begin, end string) bool {
	return slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool {
		return strings.HasPrefix(line, begin) && strings.HasSuffix(line, end)
	})
}

// need skips a test whose program is missing, except in CI.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil && os.Getenv("CI") != "" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
}

// must runs a command in a directory, and returns what it prints.
func must(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, err := in(t, dir, name, args...)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return out
}

func in(t *testing.T, dir, name string, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir = dir
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.String(), err
}
