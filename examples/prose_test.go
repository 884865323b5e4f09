package examples_test

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// Bounds of a page's sentences, in words, outside tables and blocks of code.
const (
	averageSentence = 17
	longestSentence = 30
)

// TestProse: sentences of the README and of the docs are short. Design notes are not for operators, and not measured.
func TestProse(t *testing.T) {
	for _, page := range pages(t) {
		all := sentences(text(t, page))
		words := 0
		for _, s := range all {
			words += wordsOf(s)
		}
		if len(all) > 0 && words > averageSentence*len(all) {
			t.Errorf("%s: %.1f words a sentence, want at most %d", page, float64(words)/float64(len(all)), averageSentence)
		}
		slices.SortFunc(all, func(a, b string) int { return cmp.Compare(wordsOf(b), wordsOf(a)) })
		for _, s := range all {
			if n := wordsOf(s); n > longestSentence {
				t.Errorf("%s: %d words, want at most %d: %s", page, n, longestSentence, s)
			}
		}
	}
}

// pages are the README and all of docs, but for design notes.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("../docs/*/*.md")
	if err != nil || len(found) == 0 {
		t.Fatalf("no pages in docs: %v", err)
	}
	above, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found = append(found, above...)
	return append([]string{readme}, slices.DeleteFunc(found, func(page string) bool {
		return filepath.Base(filepath.Dir(page)) == "design"
	})...)
}

// sentences are those of a page's paragraphs and items of lists. Code counts as one word.
func sentences(page string) (out []string) {
	page = regexp.MustCompile("(?s)```.*?```|<!--.*?-->").ReplaceAllString(page, "\n\n")
	for _, block := range regexp.MustCompile(`\n\s*\n`).Split(page, -1) {
		for _, item := range items(block) {
			item = regexp.MustCompile(`\]\([^)]*\)`).ReplaceAllString(item, "]")
			item = regexp.MustCompile("`[^`]*`").ReplaceAllString(item, "CODE")
			item = strings.NewReplacer("*", "", "_", " ").Replace(item)
			item = regexp.MustCompile(`([.!?:])\s+([A-Z\[])`).ReplaceAllString(strings.Join(strings.Fields(item), " "), "$1\n$2")
			for s := range strings.Lines(item) {
				if wordsOf(s) > 0 {
					out = append(out, strings.TrimSpace(s))
				}
			}
		}
	}
	return out
}

// items are the items of a list, or the paragraph itself, without headings and rows of tables.
func items(block string) (out []string) {
	item, begins := "", regexp.MustCompile(`^\s*([-*]|\d+\.)\s`)
	for line := range strings.Lines(block) {
		switch {
		case strings.HasPrefix(line, "|"), strings.HasPrefix(line, "#"):
			continue
		case begins.MatchString(line):
			out, item = append(out, item), begins.ReplaceAllString(line, "")
		default:
			item += " " + strings.TrimSpace(line)
		}
	}
	return append(out, item)
}

func wordsOf(s string) (n int) {
	for word := range strings.FieldsSeq(s) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}

// TestLinks: every link of a page leads to a file, and to a heading in it.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#: ]*)(?:#([^)]*))?\)`)
	notes, err := filepath.Glob("../docs/design/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range slices.Concat(pages(t), notes, []string{"../CHANGELOG.md", "../CONTRIBUTING.md", "../SECURITY.md", "../hack/history/SEEDS.md"}) {
		for _, m := range link.FindAllStringSubmatch(text(t, page), -1) {
			to := page
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(page), m[1])
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %v", page, err)
			} else if m[2] != "" && !slices.Contains(anchors(text(t, to)), m[2]) {
				t.Errorf("%s: %s has no heading #%s", page, to, m[2])
			}
		}
	}
}

// anchors are those of a page's headings, as GitHub makes them.
func anchors(page string) (out []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		bare := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])
		out = append(out, bare)
	}
	return out
}

// TestIndex: the index of docs has a line for every page.
func TestIndex(t *testing.T) {
	const index = "../docs/README.md"
	for _, page := range pages(t) {
		to, err := filepath.Rel(filepath.Dir(index), page)
		if err != nil {
			t.Fatal(err)
		}
		if page != readme && page != index && strings.Count(text(t, index), "]("+to+")") != 1 {
			t.Errorf("%s has not one line for %s", index, to)
		}
	}
}
