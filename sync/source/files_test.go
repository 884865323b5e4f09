package source

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/sync/forge"
)

func writeFile(name, text string) error { return os.WriteFile(name, []byte(text), 0o600) }

// rows is a shelf of one directory.
type rows struct {
	entries []entry
	size    int64
	t       *testing.T
}

func (r rows) list(string, entry) ([]entry, error) { return r.entries, nil }

func (r rows) open(at string, _ entry) (int64, func() ([]byte, error), error) {
	return r.size, func() ([]byte, error) {
		if r.size > MaxBytes {
			r.t.Errorf("%s, which does not fit, was read", at)
		}
		return make([]byte, r.size), nil
	}, nil
}

func named(n int) (out []entry) {
	for i := range n {
		out = append(out, entry{name: fmt.Sprintf("%05d", i)})
	}
	return out
}

func TestBuildBounds(t *testing.T) {
	for name, tt := range map[string]struct {
		rows  rows
		words string
	}{
		"the most bytes":      {rows{entries: named(1), size: MaxBytes}, ""},
		"one byte too many":   {rows{entries: named(1), size: MaxBytes + 1}, "too large: with 00000, the files are larger than 64 MiB"},
		"the most files":      {rows{entries: named(MaxFiles)}, ""},
		"one file too many":   {rows{entries: named(MaxFiles + 1)}, "too large: with 20000, there are more than 20000 files and directories"},
		"a name that is long": {rows{entries: []entry{{name: strings.Repeat("a", MaxName+1)}}}, "whose name has more than 255 bytes"},
		"no name":             {rows{entries: []entry{{name: ".."}}}, "which is not a file name"},
		// A tree object may name a file twice; which of both it means is not for us to guess.
		"a double": {rows{entries: append(named(2), named(1)...)}, "00000: is twice"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.rows.t = t
			_, err := build(tt.rows, entry{name: ".", dir: true}, choice{}, nil)
			if (err == nil) != (tt.words == "") || err != nil && !strings.Contains(err.Error(), tt.words) {
				t.Errorf("build: %v; want %q", err, tt.words)
			}
		})
	}
}

// What is left out counts no bounds, but it may not be read for ever.
func TestBuildLooksAtSoMuch(t *testing.T) {
	c, err := newChoice(Options{Include: []string{"*.yaml"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = build(rows{entries: named(MaxEntries + 1)}, entry{name: ".", dir: true}, c, nil)
	if err == nil || !strings.Contains(err.Error(), "more than 1000000 entries") {
		t.Errorf("build: %v", err)
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"/srv/fleet.git": `'/srv/fleet.git'`,
		"/a'b!c d;e":     `'/a'\''b'\!'c d;e'`,
	} {
		if got := quote(in); got != want {
			t.Errorf("quote(%s): -want +got\n-%s\n+%s", in, want, got)
		}
	}
}

func TestSecretHidesItself(t *testing.T) {
	c := credentials{password: forge.NewSecret("canary"), token: forge.NewSecret("canary"), hidden: []string{"canary"}}
	s, err := New(Options{Repo: "https://ann:canary@git.example.com/fleet.git"})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%v %+v %#v %s %v %+v %#v", c, c, c, c.password, s, s, s); strings.Contains(got, "canary") {
		t.Errorf("a secret shows in %s", got)
	}
}
