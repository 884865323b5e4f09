package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/linkwright/linkwright/api"
)

// problemCollector collects problems up to the bounds, and counts the others.
type problemCollector struct {
	problems []api.Problem
	reported map[problemKey]int // problems that are collected
	dropped  map[problemKey]int // problems beyond the bounds
}

func newProblemCollector() problemCollector {
	return problemCollector{reported: map[problemKey]int{}, dropped: map[problemKey]int{}}
}

// problemKey is the file and severity by which problems are counted.
type problemKey struct {
	file    string
	warning bool
}

func (c *problemCollector) fail(at api.Pos, message, hint string) {
	c.add(api.Problem{Pos: at, Message: message, Hint: hint})
}

// failTwice is fail for the second of two conflicting declarations.
func (c *problemCollector) failTwice(at, first api.Pos, message, hint string) {
	c.add(api.Problem{Pos: at, See: first, Message: message, Hint: hint})
}

// failIn is fail for a field of a document.
func (c *problemCollector) failIn(d document, path api.Path, message, hint string) {
	c.add(d.problem(api.Finding{Path: path, Message: message, Hint: hint}))
}

// add keeps a problem, or only counts it if there are too many.
func (c *problemCollector) add(p api.Problem) {
	h := problemKey{p.Pos.File, p.Warning}
	if c.room(h) <= 0 {
		c.dropped[h]++
		return
	}
	c.reported[h]++
	c.reported[problemKey{warning: h.warning}]++
	c.problems = append(c.problems, p)
}

// addAll keeps problems in the order of their positions, however they were found.
func (c *problemCollector) addAll(found []api.Problem) {
	slices.SortFunc(found, compareProblems)
	for _, p := range found {
		c.add(p)
	}
}

// room is the number of problems that may still be added; callers need not compute hints for more.
func (c *problemCollector) room(h problemKey) int {
	return min(MaxProblems-c.reported[h], MaxProblemsInTotal-c.reported[problemKey{warning: h.warning}])
}

// report returns the problems by position, up to the bounds, and counts the rest.
func (c *problemCollector) report() []api.Problem {
	slices.SortFunc(c.problems, compareProblems)
	var out []api.Problem
	written := map[problemKey]int{}
	for i, p := range c.problems {
		h := problemKey{p.Pos.File, p.Warning}
		if written[h] < MaxProblems {
			written[h]++
			p.Message, p.Hint = shorten(p.Message), shorten(p.Hint)
			out = append(out, p)
		} else {
			c.dropped[h]++
		}
		if i+1 == len(c.problems) || c.problems[i+1].Pos.File != p.Pos.File {
			out = append(out, c.moreInFile(p.Pos.File)...)
		}
	}
	return append(out, c.moreInOtherFiles()...)
}

// moreInFile counts the problems of a file that are left out.
func (c *problemCollector) moreInFile(file string) []api.Problem {
	var out []api.Problem
	for _, warning := range []bool{false, true} {
		h := problemKey{file, warning}
		if n := c.dropped[h]; n > 0 {
			out = append(out, api.Problem{Pos: api.Pos{File: file}, Warning: warning, Message: fmt.Sprintf("and %d more in this file", n)})
		}
		delete(c.dropped, h)
	}
	return out
}

// moreInOtherFiles counts the problems of files of which all problems are left out.
func (c *problemCollector) moreInOtherFiles() []api.Problem {
	var out []api.Problem
	for _, warning := range []bool{false, true} {
		n, files := 0, 0
		for h, dropped := range c.dropped {
			if h.warning == warning && dropped > 0 {
				n += dropped
				files++
			}
		}
		if n > 0 {
			out = append(out, api.Problem{Warning: warning, Message: fmt.Sprintf("and %d more in %d other files", n, files)})
		}
	}
	return out
}

// shorten keeps the beginning and the end of a message; quoted input is in the middle.
func shorten(message string) string {
	const head, tail = 300, 200
	if utf8.RuneCountInString(message) <= head+tail {
		return message
	}
	runes := []rune(message)
	return string(runes[:head]) + "…" + string(runes[len(runes)-tail:])
}

func isError(p api.Problem) bool { return !p.Warning }

func compareProblems(a, b api.Problem) int {
	return cmp.Or(api.ComparePos(a.Pos, b.Pos), cmp.Compare(a.Message, b.Message), api.ComparePos(a.See, b.See), cmp.Compare(a.Hint, b.Hint))
}
