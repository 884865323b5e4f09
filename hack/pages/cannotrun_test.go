package pages

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// cannotRun are the commands of pages that do not run here: lines of blocks, and commands in texts, that begin so.
var cannotRun = []struct{ page, command, because string }{
	{"README.md", "linkwright bootstrap ", "hack/chart follows it, with Git, Helm and three clusters"},
	{"README.md", "  --git-credentials-dir ", "it goes with linkwright bootstrap"},
	{"README.md", "git -C fleet push", "it goes with linkwright bootstrap"},
	{"README.md", "helm ", "it goes with linkwright bootstrap"},
	{"README.md", "make ", "make test runs this very test, and the demo has a test of its own (hack/demo)"},
	{"docs/how-to/install.md", "make ", "make test builds the program before this test, and the image in another one (hack/image)"},
	{"docs/how-to/install.md", "helm ", "Helm is no dependency of this module: hack/chart installs the chart with the values of the page"},
	{"docs/how-to/install.md", "  --set ", "it goes with helm install"},
	{"docs/how-to/install.md", "cp bin/linkwright", "it goes with make build"},
	{"docs/how-to/install.md", "cd bin/release", "it needs what make release builds: hack/release unpacks and runs that"},
	{"docs/how-to/install.md", "sha256sum ", "it goes with make release"},
	{"docs/how-to/install.md", "sudo ", "it goes with make release"},
	{"docs/how-to/install.md", "tar ", "it goes with make release"},
	{"docs/how-to/install.md", "kubectl krew ", "it goes with make release"},
	{"docs/how-to/install.md", "kubectl linkwright", "krew installs it"},
	{"docs/how-to/install.md", "skopeo ", "it needs what make image builds"},
	{"docs/how-to/install.md", "podman ", "it needs a container engine"},
	{"docs/how-to/install.md", "docker ", "it needs a container engine"},
	{"docs/how-to/install.md", "ctr ", "it needs a container engine"},
	{"docs/how-to/install.md", "for c in west east; do", "it needs k3d and a container engine"},
	{"docs/how-to/install.md", "  k3d ", "it needs a container engine"},
	{"docs/how-to/install.md", "  kubectl config rename-context ", "it goes with k3d"},
	{"docs/how-to/install.md", "  linkerd ", "Linkerd is no dependency of this repository"},
	{"docs/how-to/install.md", "    --identity-issuer-certificate-file ", "it goes with linkerd install"},
	{"docs/how-to/install.md", "done", "it goes with k3d"},
	{"docs/how-to/install.md", "step ", "its certificates are for Linkerd"},
	{"docs/how-to/install.md", "  --ca ", "it goes with step"},
	{"docs/how-to/upgrade.md", "helm ", "Helm is no dependency of this module: hack/chart upgrades the chart of the commit before"},
	{"docs/how-to/git.md", "curl -fsS https://github.com/", "it needs the internet"},
	{"docs/how-to/take-over.md", "linkerd ", "Linkerd is no dependency of this repository"},
	{"docs/how-to/take-over.md", "helm ", "Helm is no dependency of this repository"},
	{"docs/how-to/monitor.md", "kubectl -n linkwright logs ", "no pod runs linkwright here"},
	{"docs/how-to/monitor.md", "make ", "make monitoring-test builds Prometheus"},
	{"docs/how-to/operate.md", "linkerd ", "Linkerd is no dependency of this repository"},
}

// runnable is what runs of a block or a command in a text.
func runnable(page, text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if !slices.ContainsFunc(cannotRun, func(c struct{ page, command, because string }) bool {
			return c.page == page && strings.HasPrefix(line, c.command)
		}) {
			out.WriteString(line)
		}
	}
	return out.String()
}

// TestCannotRun: each command that does not run here is one that its page still has, and each page whose commands run is in one list or
// the other.
func TestCannotRun(t *testing.T) {
	for _, c := range cannotRun {
		if !slices.ContainsFunc(partsOf(t, c.page), func(p Part) bool { return runnable(c.page, p.Text) != p.Text }) {
			t.Errorf("%s: no command begins with %q any more", c.page, c.command)
		}
	}
}

// TestHowTos: each how-to page is followed, and has each command that the test knows something about, in that order.
func TestHowTos(t *testing.T) {
	want, err := filepath.Glob("../../docs/how-to/*.md")
	if err != nil {
		t.Fatal(err)
	}
	readmes, err := filepath.Glob("../../examples/*/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var followed []string
	for _, p := range howTos() {
		followed = append(followed, filepath.Join("../..", p.file))
		parts := partsOf(t, p.file)
		for _, a := range p.acts {
			i := slices.IndexFunc(parts, func(p Part) bool { return p.First() == a.at })
			if i < 0 {
				t.Errorf("%s: no command %q, or not after the one before in the list", p.file, a.at)
				continue
			}
			parts = parts[i+1:]
		}
	}
	for _, page := range append(append(want, readmes...), "../../README.md") {
		if !slices.Contains(followed, page) {
			t.Errorf("%s is not followed", page)
		}
	}
}

func partsOf(t *testing.T, page string) []Part {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}
	parts, err := Parts(string(text))
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	return parts
}
