package source_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync/source"
)

const (
	benchFiles   = 10_000
	benchCommits = 5_000
)

// history is a repository of many files and commits, served over plain http on loopback, that grows a commit at a time.
type history struct {
	dir, url string
	requests atomic.Int64
	commits  int
}

func newHistory(b *testing.B) *history {
	b.Helper()
	h := &history{dir: b.TempDir() + "/fleet.git"}
	h.git(b, nil, "init", "-q", "--bare", "-b", "main", h.dir)
	h.git(b, nil, "config", "gc.auto", "0")
	h.git(b, nil, "config", "uploadpack.allowFilter", "true") // as the forges have it
	var in bytes.Buffer
	for i := range benchCommits {
		h.write(&in, i)
	}
	h.git(b, &in, "fast-import", "--quiet")
	h.git(b, nil, "repack", "-q", "-a", "-d", "--write-bitmap-index") // as a server's maintenance leaves it
	h.commits = benchCommits
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(h.git(b, nil, "--exec-path")), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + filepath.Dir(h.dir), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null"},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		h.requests.Add(1)
		backend.ServeHTTP(w, q)
	}))
	b.Cleanup(server.Close)
	h.url = server.URL + "/fleet.git"
	return h
}

// write gives a commit to git fast-import: the first ones bring all files, every later one changes one to three.
func (h *history) write(to *bytes.Buffer, i int) {
	_, _ = fmt.Fprintf(to, "commit refs/heads/main\nmark :%d\ncommitter a <a@example.com> %d +0000\ndata 10\ncommit%04d\n", i+1, 1_700_000_000+i, i%10_000)
	if i > 0 && h.commits == 0 {
		_, _ = fmt.Fprintf(to, "from :%d\n", i)
	} else if i > 0 {
		_, _ = fmt.Fprintln(to, "from refs/heads/main^0")
	}
	names := []int{i * 7919 % benchFiles, i * 104729 % benchFiles, i * 1299709 % benchFiles}[:1+i%3]
	if i == 0 {
		names = names[:0]
		for n := range benchFiles {
			names = append(names, n)
		}
	}
	for _, n := range names {
		text := fmt.Sprintf("apiVersion: linkwright.dev/v1alpha1\nkind: Link\nmetadata:\n  name: link-%d\nspec:\n  source: cluster-%d\n"+
			"  target: cluster-%d\n  selector:\n    matchLabels:\n      mirror.linkerd.io/exported: \"true\"\n      revision: \"%d\"\n"+
			"  controller:\n    replicas: %d\n    logLevel: info\n    resources:\n      requests: {cpu: 10m, memory: 64Mi}\n      limits: {memory: 256Mi}\n"+
			"# %x\n", n, n%97, n%89, i, 1+i%3, i*n+n)
		_, _ = fmt.Fprintf(to, "M 100644 inline fleet/%02d/link-%d.yaml\ndata %d\n%s\n", n%100, n, len(text), text)
	}
}

// grow adds a commit.
func (h *history) grow(b *testing.B) {
	b.Helper()
	var in bytes.Buffer
	h.write(&in, h.commits)
	h.commits++
	h.git(b, &in, "fast-import", "--quiet")
}

func (h *history) git(b *testing.B, in io.Reader, args ...string) string {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), "git", args...)
	if args[0] != "init" && args[0] != "clone" {
		cmd.Args = append([]string{"git", "-C", h.dir}, args...)
	}
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	cmd.Stdin = in
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// BenchmarkSource measures one repository in all that is done with it, and in turns with it the git program and go-git as
// they are used plainly: each round asks all of them, and medians of the rounds are compared.
func BenchmarkSource(b *testing.B) {
	h := newHistory(b)
	b.Run("first", h.first)
	s, err := source.New(source.Options{Repo: h.url})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	pollOf(b, s)
	b.Run("commit", func(b *testing.B) { h.commit(b, s) })
	b.Run("unchanged", func(b *testing.B) { h.unchanged(b, s) })
	b.Run("follows", func(b *testing.B) { h.follows(b, s) })
}

// race is how long each took, by name.
type race map[string][]float64

func (r race) run(name string, f func()) {
	begin := time.Now()
	f()
	r.add(name, time.Since(begin))
}

func (r race) add(name string, took time.Duration) {
	r[name] = append(r[name], float64(took.Microseconds())/1000)
}

// tell gives medians, in milliseconds, and how many times as long the others take.
func (r race) tell(b *testing.B) {
	b.ReportMetric(0, "ns/op") // of a whole round: nobody's figure
	ours := median(r["linkwright"])
	b.ReportMetric(ours, "ms/linkwright")
	for _, other := range []string{"git", "go-git"} {
		if len(r[other]) > 0 {
			b.ReportMetric(median(r[other]), "ms/"+other)
			b.ReportMetric(median(r[other])/ours, "x/"+other)
		}
	}
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// commit is one new commit, which is fetched until its files can be read; the others only fetch it.
func (h *history) commit(b *testing.B, s *source.Source) {
	dir := b.TempDir() + "/clone"
	h.git(b, nil, "clone", "-q", "--bare", "--depth=1", h.url, dir)
	library := h.clone(b)
	r := race{}
	for b.Loop() {
		h.grow(b)
		r.run("linkwright", func() { pollOf(b, s) })
		r.run("git", func() { h.git(b, nil, "-C", dir, "fetch", "-q", "--depth=1", h.url, "+main:main") })
		r.run("go-git", func() {
			err := library.FetchContext(b.Context(), &git.FetchOptions{
				RemoteURL: h.url, Depth: 1, Force: true,
				RefSpecs: []config.RefSpec{"+refs/heads/main:refs/remotes/origin/main"},
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
	r.tell(b)
}

// unchanged is a poll that finds nothing new.
func (h *history) unchanged(b *testing.B, s *source.Source) {
	r, requests := race{}, int64(0)
	for b.Loop() {
		h.requests.Store(0)
		r.run("linkwright", func() { pollOf(b, s) })
		requests += h.requests.Load()
		r.run("git", func() { h.git(b, nil, "ls-remote", "-q", h.url) })
	}
	r.tell(b)
	b.ReportMetric(float64(requests)/float64(b.N), "requests/linkwright")
}

func pollOf(b *testing.B, s *source.Source) source.Snapshot {
	b.Helper()
	snap, err := s.Poll(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return snap
}

// first is the first fetch: ours by a process of its own, which is asked what memory it took at most; a shallow bare clone
// of the others.
func (h *history) first(b *testing.B) {
	r, peak := race{}, 0.0
	for i := 0; b.Loop(); i++ {
		took, rss := h.child(b)
		r.add("linkwright", took)
		peak = max(peak, rss)
		r.run("git", func() { h.git(b, nil, "clone", "-q", "--bare", "--depth=1", h.url, fmt.Sprint(b.TempDir(), "/", i)) })
		r.run("go-git", func() { h.clone(b) })
	}
	r.tell(b)
	b.ReportMetric(peak/1024, "MiB-peak/linkwright")
}

// child returns one first fetch, and the most memory that its process had, in KiB.
func (h *history) child(b *testing.B) (took time.Duration, rss float64) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run", "^TestFirstFetch$")
	cmd.Env = append(os.Environ(), "LINKWRIGHT_FIRST_FETCH="+h.url)
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("the first fetch: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "first" {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			rss, _ = strconv.ParseFloat(fields[2], 64)
			took = time.Duration(n)
		}
	}
	if took == 0 || rss == 0 {
		b.Fatalf("the first fetch told no figures:\n%s", out)
	}
	return took, rss
}

// clone is go-git's, with a depth of 1 and into memory.
func (h *history) clone(b *testing.B) *git.Repository {
	b.Helper()
	r, err := git.CloneContext(b.Context(), memory.NewStorage(), nil, &git.CloneOptions{
		URL: h.url, Depth: 1, ReferenceName: "refs/heads/main", SingleBranch: true,
	})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// TestFirstFetch is the process that BenchmarkSource starts.
func TestFirstFetch(t *testing.T) {
	url := os.Getenv("LINKWRIGHT_FIRST_FETCH")
	if url == "" {
		t.Skip("started by BenchmarkSource")
	}
	s := open(t, source.Options{Repo: url})
	begin := time.Now()
	snap := poll(t, s)
	took := time.Since(begin)
	if got := len(names(t, snap.Tree)); got != benchFiles {
		t.Errorf("%d files, want %d", got, benchFiles)
	}
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = f.Close() }()
	for scan := bufio.NewScanner(f); scan.Scan(); {
		if fields := strings.Fields(scan.Text()); fields[0] == "VmHWM:" {
			fmt.Println("first", took.Nanoseconds(), fields[1])
		}
	}
}

// follows asks about a commit further and further back, since answers are remembered.
func (h *history) follows(b *testing.B, s *source.Source) {
	head := pollOf(b, s).Commit
	lines := strings.Fields(h.git(b, nil, "rev-list", "--max-count=2000", "main"))
	i := 1000
	for b.Loop() {
		if err := s.Follows(b.Context(), head, api.Commit(lines[i])); err != nil {
			b.Fatal(err)
		}
		i = 1000 + (i-999)%1000
	}
}
