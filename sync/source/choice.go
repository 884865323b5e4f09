package source

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// MaxPatterns bounds Include, and Exclude, each.
const MaxPatterns = 64

// choice is what Include and Exclude leave. A file is in when Include is empty, or the last pattern of it that matches the
// file, else the nearest directory above, says so; it is out when Exclude says so of the file or of a directory above it.
type choice struct{ include, exclude []pattern }

// pattern is one line in .gitignore's syntax. go-git has a matcher, too; of **/a/b it tries only the first a.
type pattern struct {
	text  string
	parts []string // from the root: what has no slash but at its end begins with **
	not   bool     // !: takes back what an earlier one chose
	dir   bool     // a slash at its end: directories alone
}

func newChoice(o Options) (c choice, err error) {
	if c.include, err = patterns(o.Include); err != nil {
		return c, fmt.Errorf("include %w", err)
	}
	if c.exclude, err = patterns(o.Exclude); err != nil {
		return c, fmt.Errorf("exclude %w", err)
	}
	return c, nil
}

func patterns(texts []string) ([]pattern, error) {
	if len(texts) > MaxPatterns {
		return nil, fmt.Errorf("has %d patterns: at most %d are allowed", len(texts), MaxPatterns)
	}
	var out []pattern
	for i, text := range texts {
		p, err := parsePattern(text)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		if p.not && i == 0 {
			return nil, fmt.Errorf("%q: negates an earlier pattern, and there is none before it", text)
		}
		out = append(out, p)
	}
	return out, nil
}

// parsePattern refuses what .gitignore would pass over in silence, and what path.Match reads otherwise than Git.
func parsePattern(text string) (pattern, error) {
	p := pattern{text: text}
	rest := text
	if !strings.HasSuffix(rest, `\ `) {
		rest = strings.TrimRight(rest, " ")
	}
	if strings.HasPrefix(rest, "#") {
		return p, errors.New(`is a comment in .gitignore's syntax (write \# for a name that begins so)`)
	}
	rest, p.not = strings.CutPrefix(rest, "!")
	rest, p.dir = strings.CutSuffix(rest, "/")
	anchored := strings.Contains(rest, "/")
	rest = strings.TrimPrefix(rest, "/")
	if rest == "" {
		return p, errors.New("is empty: it matches nothing")
	}
	p.parts = strings.Split(rest, "/")
	for i, part := range p.parts {
		p.parts[i] = strings.ReplaceAll(part, "[!", "[^")
		if err := checkPart(p.parts[i]); err != nil {
			return p, err
		}
	}
	if !anchored {
		p.parts = append([]string{"**"}, p.parts...)
	}
	return p, nil
}

func checkPart(part string) error {
	switch _, err := path.Match(part, ""); {
	case err != nil:
		return errors.New("is not a pattern: a [ is not closed, or a \\ is at its end")
	case part == "", part == ".", part == "..":
		return fmt.Errorf("holds %q between slashes: it matches nothing", part)
	case strings.Contains(part, "**") && part != "**":
		return errors.New("holds ** beside other characters: it must be alone between slashes")
	case strings.Contains(part, "[:"):
		return errors.New("holds a class like [:alpha:], which linkwright does not support: write [a-z]")
	}
	return nil
}

// match reports whether a pattern names this very path.
func (p pattern) match(at []string, dir bool) bool {
	return (dir || !p.dir) && matchParts(p.parts, at)
}

func matchParts(parts, at []string) bool {
	switch {
	case len(parts) == 0:
		return len(at) == 0
	case parts[0] == "**" && len(parts) == 1:
		return len(at) > 0
	case parts[0] == "**":
		for i := range at {
			if matchParts(parts[1:], at[i:]) {
				return true
			}
		}
		return false
	case len(at) == 0:
		return false
	}
	ok, _ := path.Match(parts[0], at[0]) // it was tried when it was parsed
	return ok && matchParts(parts[1:], at[1:])
}

// verdict is what patterns say of a path; a directory's is where those below it begin.
type verdict struct {
	in, out bool
	hits    uint64 // the patterns of Include that matched, here or above
}

// judge adds what patterns say of a path to what they said of its directory.
func (c choice) judge(at []string, dir bool, above verdict) verdict {
	v := above
	for i, p := range c.include {
		if p.match(at, dir) {
			v.in = !p.not
			v.hits |= 1 << i
		}
	}
	for _, p := range slices.Backward(c.exclude) {
		if p.match(at, dir) {
			v.out = !p.not
			break
		}
	}
	return v
}

// missed returns an error that names the patterns of Include that chose no file: what they should have chosen may only have been renamed, and
// nothing declared is not the same as nothing found.
func (c choice) missed(hits uint64) error {
	var names []string
	for i, p := range c.include {
		if !p.not && hits&(1<<i) == 0 {
			names = append(names, fmt.Sprintf("%q", p.text))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("include %s: matches no file under the path that is not excluded (correct the pattern, or remove it)", strings.Join(names, ", "))
}
