package pages

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// howTo is a page whose commands run in its order, and what its reader does beside them.
type howTo struct {
	file  string
	given func(*reader) // what the reader has at its beginning
	acts  []act         // in the order of the page
}

// act is what there is to know about one command of a page, or about one of its YAML blocks.
type act struct {
	at     string            // its first line, as the page shows it
	before func(*reader)     // what happened before a reader runs it
	words  map[string]string // what the reader writes for words of it
	exit   int
	asks   bool     // it shows what it would do, and does it if it is run again with --yes
	shows  []string // parts of the output
	run    func(*reader, string)
	after  func(*reader)
}

// read runs the commands of a page in its order.
func (r *reader) read(p howTo) {
	r.Helper()
	parts, err := Parts(r.text())
	r.must(err)
	p.given(r)
	acts := p.acts
	for _, part := range parts {
		var a act
		if len(acts) > 0 && acts[0].at == part.First() {
			a, acts = acts[0], acts[1:]
		}
		if text := runnable(p.file, part.Text); text != "" {
			r.part(part, text, a)
		}
	}
}

func (r *reader) part(p Part, text string, a act) {
	r.Helper()
	if a.before != nil {
		a.before(r)
	}
	text = r.filled(p, text, a.words)
	switch {
	case a.run != nil:
		a.run(r, text)
	case p.Inline, p.Language == "sh":
		r.command(p, text, a)
	case p.Language == "yaml":
		r.yaml(p, text)
	}
	if a.after != nil {
		a.after(r)
	}
}

// command runs commands, which must end as the act says.
func (r *reader) command(p Part, text string, a act) {
	r.Helper()
	text = regexp.MustCompile(`(?m)^linkwright run `).ReplaceAllString(text, "daemon ")
	began := time.Now()
	code, out := r.shell.run(text)
	r.Logf("line %d, %s: %s%s", p.Line, time.Since(began).Round(time.Millisecond), text, out)
	want := a.exit
	if a.asks {
		want = exitNotDone
		a.shows = append(a.shows, "this needs a confirmation")
	}
	if code != want {
		r.Errorf("%s, line %d: exit code %d, want %d\n%s\n%s", r.page, p.Line, code, want, text, out)
	}
	for _, part := range a.shows {
		if !strings.Contains(out, part) {
			r.Errorf("%s, line %d: %s does not show %q:\n%s", r.page, p.Line, text, part, out)
		}
	}
	if a.asks {
		r.do(strings.TrimSpace(text) + " --yes")
	}
}

// Exit codes of linkwright: not all is as declared, or nothing was confirmed; and an error.
const (
	exitNotDone = 4
	exitError   = 2
)

// filled is a text as its reader types it: with names and addresses of their own instead of words in capitals.
func (r *reader) filled(p Part, text string, words map[string]string) string {
	r.Helper()
	for _, all := range []map[string]string{words, {"PATH": ".", "WHY": "incident"}, r.words} {
		for word, value := range all {
			text = written(text, word, value)
		}
	}
	if p.Inline {
		text = strings.NewReplacer("…", "", "[", "", "]", "").Replace(text)
	}
	if left := regexp.MustCompile(`(?m)^(?:linkwright|gpg|git) .*\b(?:URL|PATH|NAME|WHY|CONTEXT|FILE|HASH|COMMIT|CLUSTER|LINK|REASON|KEY|UID|FINGERPRINT|REPO)\b`).FindString(text); left != "" {
		r.Fatalf("%s, line %d: the test has no value for a word of: %s", r.page, p.Line, left)
	}
	return text
}

// written is a text with a value for a word. A word in capitals is no part of another one, and no variable of the shell.
func written(text, word, value string) string {
	if word != strings.ToUpper(word) {
		return strings.ReplaceAll(text, word, value)
	}
	return regexp.MustCompile(`(^|[^$\w])`+word+`\b`).ReplaceAllString(text, "${1}"+strings.ReplaceAll(value, "$", "$$"))
}

// yaml does with a block what its reader would: declarations are valid, a cluster takes its own objects, and commands of a workflow run.
func (r *reader) yaml(p Part, text string) {
	r.Helper()
	switch {
	case strings.Contains(text, "apiVersion: linkwright.dev/"):
		r.write("declared.yaml", text)
		r.do("linkwright validate declared.yaml && rm declared.yaml")
	case strings.Contains(text, "apiVersion: "):
		r.write("object.yaml", text)
		r.do("kubectl apply --filename object.yaml && rm object.yaml")
	default:
		var workflow any
		r.must(yaml.UnmarshalStrict([]byte(text), &workflow))
		commands := commandsIn(workflow)
		if len(commands) == 0 {
			r.Fatalf("%s, line %d: no command in\n%s", r.page, p.Line, text)
		}
		for _, c := range commands {
			r.command(p, c+"\n", act{})
		}
	}
}

// commandsIn are the strings in a workflow that run linkwright.
func commandsIn(node any) (out []string) {
	switch n := node.(type) {
	case map[string]any:
		keys := make([]string, 0, len(n))
		for k := range n {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			if k != "name" {
				out = append(out, commandsIn(n[k])...)
			}
		}
	case []any:
		for _, item := range n {
			out = append(out, commandsIn(item)...)
		}
	case string:
		if strings.HasPrefix(n, "linkwright ") {
			out = append(out, n)
		}
	}
	return out
}

// write writes a file of the reader's checkout.
func (r *reader) write(name, text string) {
	r.Helper()
	file := filepath.Join(r.beside("fleet"), name)
	r.must(os.MkdirAll(filepath.Dir(file), 0o755))
	r.must(os.WriteFile(file, []byte(text), 0o600))
}

// do runs commands of the test itself, which must succeed, and returns what they print.
func (r *reader) do(commands string) string {
	r.Helper()
	return r.fails(0, commands)
}

// fails runs commands of the test itself, which must exit with a code.
func (r *reader) fails(want int, commands string) string {
	r.Helper()
	began := time.Now()
	code, out := r.shell.run(r.filled(Part{}, commands, nil) + "\n")
	r.Logf("the test, %s: %s\n%s", time.Since(began).Round(time.Millisecond), commands, out)
	if code != want {
		r.Fatalf("exit code %d, want %d\n%s\n%s", code, want, commands, out)
	}
	return out
}

// expect runs commands of the test itself, which must print some words.
func (r *reader) expect(commands string, words ...string) {
	r.Helper()
	out := r.do(commands)
	for _, w := range words {
		if !strings.Contains(out, w) {
			r.Errorf("%s: %s does not show %q:\n%s", r.page, commands, w, out)
		}
	}
}
