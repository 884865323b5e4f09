package pages

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Part is one block of a page, or one command in its text.
type Part struct {
	Line     int    // in the page, from 1
	Language string // of a block: sh, yaml, text, or empty for a drawing
	Inline   bool   // it is a code span of the text, such as `linkwright status`
	Text     string
}

// First is the first line.
func (p Part) First() string {
	first, _, _ := strings.Cut(p.Text, "\n")
	return first
}

// programs are those whose commands a page shows.
const programs = `linkwright|kubectl|git|gpg|ssh-keygen|ssh-keyscan|openssl|curl|cat|make|helm|linkerd|skopeo|podman|docker|ctr`

var (
	span    = regexp.MustCompile("`((?:" + programs + ") [^`]+)`")
	command = regexp.MustCompile(`(?m)^\s*(?:` + programs + `) `)
)

// Parts are those of a page, in order. A block of commands has the language sh, so a block without a language must not look like one.
func Parts(page string) (out []Part, err error) {
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		m := fence.FindStringSubmatch(lines[i])
		if m == nil {
			for _, found := range span.FindAllStringSubmatch(lines[i], -1) {
				out = append(out, Part{Line: i + 1, Inline: true, Text: found[1] + "\n"})
			}
			continue
		}
		end := closing(lines, i)
		switch p := (Part{Line: i + 1, Language: m[2], Text: block(lines[i+1:max(i+1, end)], m[1])}); {
		case end < 0:
			return nil, fmt.Errorf("line %d: the block has no end", p.Line)
		case !slices.Contains([]string{"sh", "yaml", "text", ""}, p.Language):
			return nil, fmt.Errorf("line %d: a block %q is neither sh, yaml nor text", p.Line, p.Language)
		case p.Language == "" && command.MatchString(p.Text):
			return nil, fmt.Errorf("line %d: a block of commands has no language: write sh", p.Line)
		default:
			out = append(out, p)
		}
		i = end
	}
	return out, nil
}
