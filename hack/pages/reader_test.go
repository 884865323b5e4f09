package pages

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/linkwright/linkwright/hack/testbed"
)

// patience is how long a command may take until its output is as shown.
const patience = 90 * time.Second

var update = flag.Bool("update", false, "write the outputs into the tutorials")

// impatient are a reader's preferences: kubectl does not wait until a namespace is gone, which takes 5 seconds at least. The next page that
// needs it waits.
const impatient = `apiVersion: kubectl.config.k8s.io/v1beta1
kind: Preference
defaults:
- command: delete
  options:
  - {name: wait, default: "false"}
`

// lab is what all pages share: two clusters, as linkerd install leaves them, and the programs.
type lab struct {
	bed *testbed.ControlPlanes
	dir string // home of the reader, with bin, kubeconfig and a directory for each page
}

// reader is somebody who follows one page, in one shell.
type reader struct {
	*testing.T
	*lab
	page  string // its path in the repository
	dir   string // where the reader works
	shell *shell
	words map[string]string // what the reader writes for a word of the page such as URL
}

// TestPages runs the commands of all pages, in an order in which each page leaves what the next one starts from. A page that runs alone
// makes that state itself.
func TestPages(t *testing.T) {
	l := newLab(t)
	t.Run("first-link", func(t *testing.T) {
		r := l.newReader(t, "docs/tutorials/first-link.md")
		r.clean()
		r.follow()
	})
	for _, p := range howTos() {
		t.Run(strings.TrimSuffix(filepath.Base(p.file), ".md"), func(t *testing.T) { l.newReader(t, p.file).read(p) })
	}
	t.Run("from-hand-made-links", func(t *testing.T) {
		r := l.newReader(t, "docs/tutorials/from-hand-made-links.md")
		r.unlinked()
		r.linkerd()
		r.follow()
	})
}

func newLab(t *testing.T) *lab {
	t.Helper()
	testbed.Need(t)
	l := &lab{dir: t.TempDir()}
	l.programs(t)
	bed, err := testbed.Start(t.Context(), testbed.Options{Names: []string{"west", "east"}})
	must(t, err)
	l.bed = bed
	t.Cleanup(func() { must(t, bed.Close()) })
	must(t, l.installLinkerd(t.Context()))
	l.mirrors(t)
	l.login(t)
	must(t, os.Mkdir(l.beside(".kube"), 0o755))
	must(t, os.WriteFile(l.beside(".kube/kuberc"), []byte(impatient), 0o600))
	return l
}

// installLinkerd installs what linkerd install does. What is there already stays.
func (l *lab) installLinkerd(ctx context.Context) error {
	for i, c := range l.bed.Clusters {
		if err := testbed.InstallLinkerd(ctx, c.Config, testbed.Linkerd{GatewayAddresses: []string{fmt.Sprintf("192.0.2.%d", 11-i)}}); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) newReader(t *testing.T, page string) *reader {
	t.Helper()
	r := &reader{T: t, lab: l, page: page, dir: filepath.Join(l.dir, strings.TrimSuffix(filepath.Base(page), ".md")), words: map[string]string{}}
	r.must(os.Mkdir(r.dir, 0o755))
	r.shell = newShell(t, r.dir, append(os.Environ(),
		"HOME="+l.dir, "PATH="+l.beside("bin")+":"+os.Getenv("PATH"), "KUBECONFIG="+l.beside("kubeconfig"), "GNUPGHOME="+l.beside("gnupg"),
		"GIT_AUTHOR_NAME=You", "GIT_AUTHOR_EMAIL=you@example.com", "GIT_COMMITTER_NAME=You", "GIT_COMMITTER_EMAIL=you@example.com", "GIT_CONFIG_GLOBAL=/dev/null"))
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (r *reader) must(err error) { r.Helper(); must(r.T, err) }

func (l *lab) beside(name string) string { return filepath.Join(l.dir, name) }

// programs are linkwright and kubectl, as make builds them, or this machine's kubectl.
func (l *lab) programs(t *testing.T) {
	t.Helper()
	from, err := testbed.Binaries()
	must(t, err)
	must(t, os.Mkdir(l.beside("bin"), 0o755))
	for _, name := range []string{"linkwright", "kubectl"} {
		file := filepath.Join(from, name)
		_, err := os.Stat(file)
		if err != nil && name == "kubectl" {
			file, err = exec.LookPath(name)
		}
		if err != nil {
			if ci := os.Getenv("CI"); ci == "1" || ci == "true" {
				t.Fatal(err)
			}
			t.Skipf("%v: run make build bin/kubectl", err)
		}
		must(t, os.Symlink(file, filepath.Join(l.beside("bin"), name)))
	}
}

// mirrors play Linkerd's controllers.
func (l *lab) mirrors(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, len(l.bed.Clusters))
	for _, c := range l.bed.Clusters {
		go func() { done <- testbed.RunMirrors(ctx, c.Config, testbed.MirrorOptions{}) }()
	}
	t.Cleanup(func() {
		stop()
		for range l.bed.Clusters {
			must(t, <-done)
		}
	})
}

// login writes a kubeconfig with a context for each cluster.
func (l *lab) login(t *testing.T) {
	t.Helper()
	all := clientcmdapi.NewConfig()
	for _, c := range l.bed.Clusters {
		one, err := clientcmd.LoadFromFile(c.Kubeconfig)
		must(t, err)
		context := one.Contexts[one.CurrentContext]
		all.Clusters[c.Name], all.AuthInfos[c.Name] = one.Clusters[context.Cluster], one.AuthInfos[context.AuthInfo]
		all.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: c.Name}
	}
	all.CurrentContext = "west"
	must(t, clientcmd.WriteToFile(*all, l.beside("kubeconfig")))
}

// text is that of the page.
func (r *reader) text() string {
	r.Helper()
	text, err := os.ReadFile(filepath.Join("../..", r.page))
	r.must(err)
	return string(text)
}

// root is the checkout of linkwright.
func (r *reader) root() string {
	r.Helper()
	root, err := testbed.Root()
	r.must(err)
	return root
}
