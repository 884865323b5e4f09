package recording

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func at(seconds float64, kind Kind, text string) Line {
	return Line{At: time.Duration(seconds * float64(time.Second)), Kind: kind, Text: text}
}

// sample has two pages: the second step does not fit on the first.
func sample() []Line {
	lines := []Line{
		at(0, Output, ""),
		at(0, Heading, "1. Start <clusters> & more"),
		at(60, Result, "3 clusters are ready."),
		at(60, Output, "CLUSTER   GATEWAY"),
		at(60, Output, ""),
		at(60, Heading, "2. Show much"),
		at(61.25, Command, "linkwright status"),
	}
	for i := range pageRows - 4 {
		lines = append(lines, at(61.25, Output, fmt.Sprintf("row %d", i)))
	}
	return append(lines, at(62, Result, "All checks passed."))
}

func TestString(t *testing.T) {
	var got []string
	for _, l := range sample()[:7] {
		got = append(got, l.String())
	}
	want := []string{
		"",
		"  0.0s     1. Start <clusters> & more",
		" 60.0s  ✓  3 clusters are ready.",
		"           CLUSTER   GATEWAY",
		"",
		" 60.0s     2. Show much",
		"           $ linkwright status",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines: -want +got\n%s", diff)
	}
}

// shown is what an SVG shows of one line, and whether it is visible if nothing is animated.
type shown struct {
	text   string
	static bool
}

// read returns the lines of an SVG: the parts of one group at one height, joined.
func read(svg []byte) []shown {
	part := regexp.MustCompile(`<text class="[a-z]+" x="[\d.]+" y="(\d+)"[^>]*>([^<]*)</text>`)
	var lines []shown
	for _, group := range strings.Split(string(svg), `<g class="`)[1:] {
		hidden := regexp.MustCompile(`^b\d+" opacity="0">`).MatchString(group)
		before := ""
		for _, m := range part.FindAllStringSubmatch(group, -1) {
			if m[1] != before {
				lines = append(lines, shown{static: !hidden})
			}
			before = m[1]
			l := &lines[len(lines)-1]
			l.text = strings.TrimSpace(l.text + " " + html.UnescapeString(m[2]))
		}
	}
	return lines
}

// wellFormed reads a whole XML document.
func wellFormed(document []byte) error {
	for decoder := xml.NewDecoder(bytes.NewReader(document)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// words joins the words of a line with single spaces: the picture places its parts by coordinates.
func words(line string) string { return strings.Join(strings.Fields(line), " ") }

func TestSVG(t *testing.T) {
	svg, err := Picture{Title: "make demo", Description: "A <demo>."}.SVG(sample())
	if err != nil {
		t.Fatal(err)
	}
	if err := wellFormed(svg); err != nil {
		t.Error(err)
	}
	static := map[string]bool{}
	for _, l := range read(svg) {
		static[words(l.text)] = l.static
	}
	lastPage := len(sample()) - len(steps(sample())[2])
	for i, l := range sample() {
		visible, ok := static[words(l.String())]
		if l.Text != "" && (!ok || visible != (i >= lastPage)) {
			t.Errorf("%q: shown %v, visible without animation %v", l, ok, visible)
		}
	}
	for _, forbidden := range []string{"<script", "href", "url(", "@import", "@font-face"} {
		if strings.Contains(string(svg), forbidden) {
			t.Errorf("the picture contains %s", forbidden)
		}
	}
}

func TestSVGIsDeterministic(t *testing.T) {
	a, errA := Picture{Title: "t"}.SVG(sample())
	b, errB := Picture{Title: "t"}.SVG(sample())
	if err := errors.Join(errA, errB); err != nil || !bytes.Equal(a, b) {
		t.Errorf("two pictures of one recording differ: %v", err)
	}
}

func TestSVGFails(t *testing.T) {
	wide := strings.Repeat("x", MaxWidth-Indent)
	if _, err := (Picture{}).SVG([]Line{at(0, Output, wide)}); err != nil {
		t.Errorf("%d columns: %v", MaxWidth, err)
	}
	if _, err := (Picture{}).SVG([]Line{at(0, Output, wide+"é")}); err == nil || !strings.Contains(err.Error(), "101 columns") {
		t.Errorf("101 columns: got %v", err)
	}
	if _, err := (Picture{}).SVG(nil); err == nil {
		t.Error("no lines: got no error")
	}
}

// TestPlay: waiting is shortened, lines get time to be read, and a page disappears when the next begins.
func TestPlay(t *testing.T) {
	all, total := play(sample())
	type part struct {
		first, from, to string
		page, row       int
	}
	var got []part
	for _, b := range all {
		got = append(got, part{b.lines[0].Text, b.from.String(), b.to.String(), b.page, b.row})
	}
	want := []part{
		{"1. Start <clusters> & more", "0s", "3.15s", 0, 0},
		{"3 clusters are ready.", "1.5s", "3.15s", 0, 1},
		{"2. Show much", "3.15s", "13.55s", 1, 0},
		{"linkwright status", "4.4s", "13.55s", 1, 1},
		{"All checks passed.", "9.55s", "13.55s", 1, 34},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(part{})); diff != "" {
		t.Errorf("bursts: -want +got\n%s", diff)
	}
	if end := all[len(all)-1].from + atEnd; total != end {
		t.Errorf("total: got %v, want %v", total, end)
	}
}
