package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

// committed is the picture of the README, which `make demo-svg` writes.
const committed = "../../docs/demo.svg"

func TestNeutral(t *testing.T) {
	got := neutral("/tmp/demo-1/fleet at 127.0.0.1:4711, web-1_7 and web-1_77x lead", "/tmp/demo-1", "web-1")
	if want := "$DEMO/fleet at 127.0.0.1:PORT, laptop_1 and web-1_77x lead"; got != want {
		t.Errorf("neutral: got %s, want %s", got, want)
	}
}

// TestCommittedPicture: the picture in docs is small, names nothing of the machine that made it, and shows the steps
// of today's script.
func TestCommittedPicture(t *testing.T) {
	svg, err := os.ReadFile(committed)
	if err != nil {
		t.Fatal(err)
	}
	if len(svg) > 100_000 {
		t.Errorf("%s has %d bytes, want at most 100000", committed, len(svg))
	}
	if found := regexp.MustCompile(`/tmp/|/home/|/root/|127\.0\.0\.1:\d|localhost`).Find(svg); found != nil {
		t.Errorf("%s contains %s", committed, found)
	}
	text := textOf(t, svg)
	d := &demo{options: options{Clusters: defaultClusters}}
	for _, s := range d.script() {
		if !strings.Contains(text, ". "+s.title+"\n") {
			t.Errorf("%s does not show the step %q: run make demo-svg", committed, s.title)
		}
	}
	if !strings.Contains(text, "All checks passed.\n") {
		t.Errorf("%s does not show the end of the script", committed)
	}
}

// textOf is the character data of an XML document.
func textOf(t *testing.T, document []byte) string {
	t.Helper()
	var out strings.Builder
	for decoder := xml.NewDecoder(bytes.NewReader(document)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := token.(xml.CharData); ok {
			out.WriteString(string(data) + "\n")
		}
	}
}
