// Package pages reads the pages for users, so that its test can run every command that they show: of README.md, of the tutorials and of all
// how-to pages.
//
// One test, TestPages, follows all pages on one pair of control planes, with the programs that make builds, real Git repositories and a real
// bash. Each page is a subtest, and begins in a known state, which linkwright's own commands make: clusters without linkwright, clusters that
// are not linked, or a repository whose link is in place. A page that runs alone makes that state itself.
//
// A tutorial is one session. Its blocks sh are commands, and the block text after one is their output, which must have that shape. What else to
// expect is in a comment of the page (Steps).
//
// The commands of another page are its blocks sh and the code spans in its text that begin with a program (Parts). They run in the page's order,
// in a checkout of declarations, and must succeed. They are written for readers who know their own names, so each page has a list of acts in
// the test, in its order: what happened before a command, which value the reader writes for a word such as URL, another exit code, what the
// output shows, and what is true afterwards. A word without a value fails. A YAML block is validated if it declares something, applied if a
// cluster takes it, and otherwise a workflow, whose commands run.
//
// Commands that cannot run are in one table with the reason (cannotRun). Tests without clusters check that each page is followed, and that
// each act and each entry of that table is still in its page.
package pages

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Step is one block of commands of a page, and the output that the page shows for it.
type Step struct {
	Line     int    // of the block in the page, from 1
	Commands string // the text of a block sh
	Exit     int    // the exit code of the last command that fails; 0: none does
	Repeat   bool   // the block is run until its output is as shown, because something happens by itself meanwhile

	Shown    string // the text of the block text that follows, if HasShown; a line … stands for any lines
	HasShown bool
	From, To int // its lines, from 0, without To
}

var (
	fence = regexp.MustCompile("^(\\s*)```(\\w*)$")
	mark  = regexp.MustCompile(`^<!-- test: (.*) -->$`)
)

// Steps are those of a page, in order. A block sh is commands. A block text right after it is their output. A comment
// `<!-- test: exit 4, repeat -->` before the commands says what else to expect.
func Steps(page string) (out []Step, err error) {
	lines := strings.Split(page, "\n")
	var next Step
	for i := 0; i < len(lines); i++ {
		if m := mark.FindStringSubmatch(lines[i]); m != nil {
			if next, err = marked(m[1]); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			continue
		}
		m := fence.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		end := closing(lines, i)
		if end < 0 {
			return nil, fmt.Errorf("line %d: the block has no end", i+1)
		}
		body := block(lines[i+1:end], m[1])
		switch {
		case m[2] == "sh":
			next.Line, next.Commands = i+1, body
			out, next = append(out, next), Step{}
		case m[2] == "text" && len(out) > 0 && !out[len(out)-1].HasShown:
			last := &out[len(out)-1]
			last.Shown, last.HasShown, last.From, last.To = body, true, i+1, end
		default:
			return nil, fmt.Errorf("line %d: a block %q is neither commands (sh) nor their output (text)", i+1, m[2])
		}
		i = end
	}
	return out, nil
}

func closing(lines []string, begin int) int {
	end := slices.IndexFunc(lines[begin+1:], func(line string) bool { return strings.TrimSpace(line) == "```" })
	if end < 0 {
		return -1
	}
	return begin + 1 + end
}

func block(lines []string, indent string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimPrefix(line, indent) + "\n")
	}
	return b.String()
}

func marked(words string) (s Step, err error) {
	for word := range strings.SplitSeq(words, ", ") {
		code, exits := strings.CutPrefix(word, "exit ")
		switch {
		case exits:
			if s.Exit, err = strconv.Atoi(code); err != nil {
				return Step{}, fmt.Errorf("%s: %w", word, err)
			}
		case word == "repeat":
			s.Repeat = true
		default:
			return Step{}, fmt.Errorf("unknown word %q", word)
		}
	}
	return s, nil
}

// Shape is a text without what differs from one run to the next: hashes, ages, times, uids, addresses of Services, numbers of writes and
// the width of columns.
func Shape(text string) string {
	for _, r := range []struct{ pattern, with string }{
		{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, "UID"},
		{`\b[0-9a-f]{64}\b|\b[0-9a-f]{40}\b|\b[0-9a-f]{12}\b|\b[0-9a-f]{7,8}\b`, "HASH"},
		{`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?`, "TIME"},
		{`\b\d{4}-\d\d-\d\d\b`, "DATE"},
		{`\b10\.\d+\.\d+\.\d+\b`, "IP"},
		{`\b(\d+d)?(\d+h)?(\d+m)?\d+(\.\d+)?m?s\b|\b\d+m\b|\b\d+h\b`, "AGE"},
		{`\b\S+_\d+, ended`, "PROCESS, ended"},
		{`\b\d+ written`, "N written"},
		{`[ \t]+`, " "},
		{`(?m) $`, ""},
	} {
		text = regexp.MustCompile(r.pattern).ReplaceAllString(text, r.with)
	}
	return strings.TrimSpace(text)
}

// Same says that an output has the shape that is shown. A line … in what is shown stands for any lines, or none.
func Same(shown, got string) bool {
	var pattern strings.Builder
	for i, part := range regexp.MustCompile(`(?m)^…$`).Split(Shape(shown), -1) {
		if i > 0 {
			pattern.WriteString(`(?s:.*)`)
		}
		pattern.WriteString(regexp.QuoteMeta(strings.Trim(part, "\n")))
	}
	return regexp.MustCompile(`^` + strings.ReplaceAll(pattern.String(), `(?s:.*)`, `\s*(?s:.*?)\s*`) + `$`).MatchString(Shape(got))
}
