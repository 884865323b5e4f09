package source

import (
	"fmt"
	"strings"
	"testing"
)

func empty() ([]byte, error) { return nil, nil }

func TestFilesBounds(t *testing.T) {
	f := newFiles()
	if err := f.add("large", MaxBytes, empty); err != nil {
		t.Errorf("add: %v, and it fits exactly", err)
	}
	err := f.add("drop", 1, func() ([]byte, error) { t.Error("a file that does not fit was read"); return nil, nil })
	if err == nil || !strings.Contains(err.Error(), "drop: with it the files would be larger than 64 MiB") {
		t.Errorf("add of one byte too many: %v", err)
	}
	f = newFiles()
	for i := range MaxFiles {
		if err := f.add(fmt.Sprintf("%05d", i), 0, empty); err != nil {
			t.Fatalf("add: %v", err)
		}
	}
	if err := f.mkdir("one"); err == nil || !strings.Contains(err.Error(), "more than 20000 files and directories") {
		t.Errorf("mkdir of one too many: %v", err)
	}
}

// A tree object may name a file twice; which of both it means is not for us to guess.
func TestFilesRefuseADouble(t *testing.T) {
	f := newFiles()
	if err := f.add("a", 0, empty); err != nil {
		t.Fatal(err)
	}
	if err := f.mkdir("a"); err == nil || !strings.Contains(err.Error(), "stands twice") {
		t.Errorf("mkdir of a name that is taken: %v", err)
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
	c := credentials{password: "canary", token: "canary"}
	s, err := New(Options{Repo: "https://ann:canary@git.example.com/fleet.git"})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%v %+v %#v %s %v %+v %#v", c, c, c, c.password, s, s, s); strings.Contains(got, "canary") {
		t.Errorf("a secret shows in %s", got)
	}
}
