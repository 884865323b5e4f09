// Package examples_test keeps what people copy true: the examples, and what the README says.
package examples_test

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/hack/program"
	"github.com/linkwright/linkwright/mirror/controller"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/web"
)

const (
	readme         = "../README.md"
	referencePages = "../docs/reference/"
	architecture   = "../docs/explanation/architecture.md"
	module         = "github.com/linkwright/linkwright"
)

func update() bool { return flag.Lookup("update").Value.String() == "true" }

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the generated tables")
	os.Exit(m.Run())
}

func loads(t *testing.T, name string, tree fs.FS) {
	t.Helper()
	f, problems := fleet.Load("", tree)
	for _, p := range problems {
		t.Errorf("%s: %s", name, p)
	}
	if f == nil {
		t.Errorf("%s: no fleet", name)
	}
}

// TestExamples: every directory is a repository of its own, without any warning. Manifests are package deploy's.
func TestExamples(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, e := range entries {
		if e.IsDir() && e.Name() != "install" {
			found++
			loads(t, e.Name(), os.DirFS(e.Name()))
		}
	}
	if found == 0 {
		t.Error("there is no example")
	}
}

func TestREADME(t *testing.T) { loadsBlocks(t, readme) }

// loadsBlocks loads the YAML of a page twice: its Link and its Mesh are two ways to declare one pair.
func loadsBlocks(t *testing.T, page string) {
	t.Helper()
	var documents []string
	for _, m := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindAllStringSubmatch(text(t, page), -1) {
		documents = append(documents, strings.Split(m[1], "---\n")...)
	}
	for _, without := range []string{"Link", "Mesh"} {
		tree := fstest.MapFS{}
		for i, d := range documents {
			if !strings.Contains(d, "kind: "+without+"\n") {
				tree[fmt.Sprintf("document%d.yaml", i)] = &fstest.MapFile{Data: []byte(d)}
			}
		}
		if len(tree) == len(documents) {
			t.Errorf("%s declares no %s", page, without)
		}
		loads(t, page+" without its "+without, tree)
	}
}

func text(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// section compares what stands between two marks of a page with what is generated, or writes it there.
func section(t *testing.T, page, name, want string) {
	t.Helper()
	before, rest, ok := strings.Cut(text(t, page), "<!-- "+name+" -->\n")
	got, after, end := strings.Cut(rest, "<!-- /"+name+" -->\n")
	if !ok || !end {
		t.Fatalf("%s has no section %s", page, name)
	}
	if update() {
		whole := before + "<!-- " + name + " -->\n" + want + "<!-- /" + name + " -->\n" + after
		if err := os.WriteFile(page, []byte(whole), 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s of %s: -want +got (go test ./examples -update writes it)\n%s", name, page, diff)
	}
}

// option is one flag in one meaning.
type option struct{ name, meaning string }

var help = regexp.MustCompile(`(?m)^ +(-\w, )?--([a-z-]+)(?: \w+)? {2,}(.*)$`)

// TestFlags asks the program itself, built of this tree.
func TestFlags(t *testing.T) {
	depend(t, "../cmd/linkwright/*.go")
	depend(t, "../cmd/linkwright/*/*.go")
	linkwright, err := program.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	commands := []string{"run", "sync", "diff", "render", "status", "check", "describe link", "describe cluster", "validate", "approve", "rotate", "adopt", "release", "uninstall", "import", "rbac", "cluster add"}
	options := map[option][]string{}
	for _, command := range commands {
		out, err := exec.CommandContext(t.Context(), linkwright, append(strings.Fields(command), "--help")...).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range help.FindAllStringSubmatch(string(out), -1) {
			options[optionOf(m)] = append(options[optionOf(m)], command)
		}
	}
	for _, command := range []string{"accept cluster", "allow non-fast-forward", "abandon", "reconcile", "suspend", "resume", "get links", "events", "version"} {
		own(t, linkwright, command, options)
	}
	section(t, referencePages+"commands.md", "flags", flagTable(options, commands))
}

// optionOf is the flag of a line of help.
func optionOf(m []string) option {
	name := "`--" + m[2] + "`"
	if m[1] != "" {
		name = "`" + strings.TrimSuffix(m[1], ", ") + "`, " + name
	}
	return option{name, m[3]}
}

// own adds the flags of a command that reads no repository, but for those that nearly all commands have.
func own(t *testing.T, program, command string, options map[option][]string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, append(strings.Fields(command), "--help")...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range help.FindAllStringSubmatch(string(out), -1) {
		if of := optionOf(m); len(options[of]) <= 5 {
			options[of] = append(options[of], command)
		}
	}
}

func flagTable(options map[option][]string, all []string) string {
	var b strings.Builder
	b.WriteString("| flag | commands | meaning |\n| --- | --- | --- |\n")
	sorted := slices.SortedFunc(maps.Keys(options), func(a, b option) int {
		return strings.Compare(a.name+a.meaning, b.name+b.meaning)
	})
	for _, o := range sorted {
		if strings.Contains(o.name, "--help") {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", o.name, among(all, options[o]), o.meaning)
	}
	return b.String()
}

// among names some of all commands, by those that are missing where that is shorter.
func among(all, some []string) string {
	missing := slices.DeleteFunc(slices.Clone(all), func(c string) bool { return slices.Contains(some, c) })
	switch {
	case len(missing) == 0:
		return "all"
	case len(missing) <= 3:
		return "all but " + strings.Join(missing, ", ")
	}
	return strings.Join(some, ", ")
}

// TestCI: every command that the page shows is one that a script runs.
func TestCI(t *testing.T) {
	scripts := strings.Join(depend(t, "../testdata/script/validate-*.txtar"), "")
	commands := regexp.MustCompile(`(?m)linkwright validate fleet.*$`).FindAllString(text(t, "../docs/how-to/ci.md"), -1)
	if len(commands) == 0 {
		t.Error("docs/how-to/ci.md shows no command")
	}
	for _, c := range commands {
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(c) + `(;|\n)`).MatchString(scripts) {
			t.Errorf("docs/how-to/ci.md: no script runs %q", c)
		}
	}
}

func TestMetrics(t *testing.T) {
	const head = "| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n"
	row := func(name, kind, help string, labels []string) string {
		return fmt.Sprintf("| `%s` | %s | %s | %s |\n", name, kind, strings.Join(labels, ", "), help)
	}
	run, mirror := head, head
	for _, m := range web.Metrics() {
		run += row(m.Name, m.Type, m.Help, m.Labels)
	}
	for _, m := range controller.Metrics() {
		mirror += row(m.Name, m.Type, m.Help, m.Labels)
	}
	section(t, referencePages+"metrics.md", "metrics", run)
	section(t, referencePages+"metrics.md", "metrics of mirror", mirror)
	section(t, referencePages+"metrics.md", "series", fmt.Sprintf(
		"Each link has at most %d series, and each cluster at most %d beside those.\n", web.SeriesOfLink(), web.SeriesOfCluster()))
}

// Each alert has a section of its own on the page that its runbook_url names, and no section is about another one.
func TestAlerts(t *testing.T) {
	names := func(file, pattern string) (out []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text(t, file), -1) {
			out = append(out, m[1])
		}
		return out
	}
	alerts := names("../deploy/monitoring/rules.yaml", `(?m)^ +- alert: (\w+)$`)
	if diff := cmp.Diff(alerts, names("../docs/how-to/monitor.md", `(?m)^### (\w+)$`)); diff != "" || len(alerts) == 0 {
		t.Errorf("docs/how-to/monitor.md: -alerts +sections\n%s", diff)
	}
}

func TestWarnings(t *testing.T) {
	var b strings.Builder
	b.WriteString("| code | says |\n| --- | --- |\n")
	for _, r := range fleet.Rules() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.Code, r.Help)
	}
	section(t, referencePages+"warnings.md", "warnings", b.String())
	b.Reset()
	b.WriteString("| code | says |\n| --- | --- |\n")
	for _, r := range fleet.SecretRules() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.Code, r.Help)
	}
	section(t, referencePages+"warnings.md", "secrets", b.String())
}

// depend reads files, so that a cached result of this test does not outlive a change of them.
func depend(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	var out []string
	for _, f := range files {
		if !strings.HasSuffix(f, "_test.go") {
			out = append(out, text(t, f))
		}
	}
	return out
}

// TestReasons: a page has all reasons, as the tables of package reason give them.
func TestReasons(t *testing.T) {
	var b strings.Builder
	for _, g := range reason.Table() {
		fmt.Fprintf(&b, "\n## %s\n\n| reason | meaning | what to do |\n| --- | --- | --- |\n", g.Title)
		for _, e := range g.Entries {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", e.Code, e.Meaning, e.Remedy)
		}
	}
	section(t, referencePages+"reasons.md", "reasons", fromReference(b.String()))
	b.Reset()
	b.WriteString("| reason | meaning | what to do |\n| --- | --- | --- |\n")
	for _, e := range reason.Events().Entries {
		remedy := e.Remedy
		if remedy == "" {
			remedy = "Nothing."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", e.Code, e.Meaning, remedy)
	}
	section(t, referencePages+"reasons.md", "events", fromReference(b.String()))
	b.Reset()
	b.WriteString("| reason | meaning |\n| --- | --- |\n")
	for _, e := range reason.Writes().Entries {
		fmt.Fprintf(&b, "| `%s` | %s |\n", e.Code, e.Meaning)
	}
	section(t, referencePages+"reasons.md", "writes", b.String())
}

// fromReference turns links from the root of the repository into links from the directory of the reference pages.
func fromReference(text string) string { return strings.ReplaceAll(text, "](docs/", "](../") }

// TestReasonsAreTyped: what makes a reason, or asks for one, names a constant of the table, and each of those is used.
func TestReasonsAreTyped(t *testing.T) {
	spelled := regexp.MustCompile(`(?:Because|miss|missBoth|failed)\((?:As\w+, )?"[A-Z]\w+"|Code: +"[A-Z]\w+", Message|\.(?:Code|Reason) [!=]= "[A-Z]\w+"`)
	named := regexp.MustCompile(`\breason\.([A-Z]\w+)`)
	used := map[string]bool{}
	for path, source := range sources(t, append(rooms(), "hack/memcluster", "hack/history")) {
		for _, found := range spelled.FindAllString(source, -1) {
			t.Errorf("%s: %s: name a constant of package object/reason", path, found)
		}
		for _, m := range named.FindAllStringSubmatch(source, -1) {
			used[m[1]] = true
		}
	}
	for _, e := range reason.All() {
		if !used[string(e.Code)] {
			t.Errorf("nothing gives the reason %s any more: take it out of the table", e.Code)
		}
	}
}

// sources are the files of packages, but for tests and the table of reasons.
func sources(t *testing.T, dirs []string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, dir := range slices.DeleteFunc(dirs, func(dir string) bool { return dir == "object/reason" }) {
		paths, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if !strings.HasSuffix(path, "_test.go") {
				out[path] = text(t, path)
			}
		}
	}
	return out
}

// rooms are the packages of the architecture in the order of their dependencies, as its page names them.
func rooms() []string {
	return []string{
		"api", "object/reason", "object", "render/fleet", "render/linkerd", "render", "render/marks", "render/values", "rollout", "render/confine", "render/overlay/sandbox", "render/overlay", "mirror", "mirror/probe", "mirror/controller", "rollout/trust", "rollout/survey", "prune/inventory", "rollout/restart", "prune",
		"sync/state", "sync/credential", "sync/health", "sync/takeover", "sync/values", "sync/plan", "sync/rights", "sync/report/output", "docs/schema", "sync/report", "sync/progress", "sync/trust", "sync/forge", "sync/source", "sync/cluster", "sync/lease", "sync/store", "sync/apply", "sync/verify", "sync/record", "sync", "sync/notify", "sync/web",
		"sync/declared", "sync/access", "sync/setup", "cmd/linkwright/live", "cmd/linkwright/cli", "cmd/linkwright/complete", "cmd/linkwright/decide", "cmd/linkwright/enroll", "cmd/linkwright",
	}
}

// TestArchitecture: the page shows the imports as they are, and has a paragraph for every package, in an order in which
// each stands below what it imports.
func TestArchitecture(t *testing.T) {
	page := text(t, architecture)
	var b strings.Builder
	b.WriteString("| package | imports |\n| --- | --- |\n")
	at := 0
	for i, room := range rooms() {
		depend(t, "../"+room+"/*.go")
		out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{join .Imports "\n"}}`, "../"+room).Output()
		if err != nil {
			t.Fatal(err)
		}
		var imports []string
		for line := range strings.Lines(string(out)) {
			if in, ok := strings.CutPrefix(strings.TrimSpace(line), module+"/"); ok {
				imports = append(imports, in)
				if !slices.Contains(rooms()[:i], in) {
					t.Errorf("%s imports %s, which stands below it", room, in)
				}
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", room, strings.Join(imports, ", "))
		next := strings.Index(page, "\n**"+room+"** –")
		if next < at {
			t.Errorf("the paragraph of %s is missing or stands too early", room)
		}
		at = next
	}
	section(t, architecture, "imports", b.String())
}

// TestDesigns: every decision has its four parts, in fewer than 80 lines, and links lead somewhere.
func TestDesigns(t *testing.T) {
	pages, err := filepath.Glob("../docs/design/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no decisions: %v", err)
	}
	for _, p := range pages {
		page := text(t, p)
		for _, part := range []string{"# " + filepath.Base(p)[:4] + ": ", "**Context.**", "**Decision.**", "**Consequences.**", "**Rejected.**"} {
			if !strings.Contains(page, part) {
				t.Errorf("%s has no %q", p, part)
			}
		}
		if strings.Count(page, "\n") >= 80 {
			t.Errorf("%s is too long", p)
		}
	}
	for _, p := range []string{readme, architecture, declarations, "../docs/how-to/ci.md", "../docs/how-to/git.md", "../docs/explanation/threat-model.md", "../CHANGELOG.md"} {
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`).FindAllStringSubmatch(text(t, p), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(p), m[1])); err != nil {
				t.Errorf("%s: %v", p, err)
			}
		}
	}
}
