package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/linkwright/linkwright/api"
)

// heap is what problems are counted by.
type heap struct {
	file    string
	warning bool
}

func (l *loader) fail(at api.Pos, message, hint string) {
	l.add(api.Problem{Pos: at, Message: message, Hint: hint})
}

// failTwice is fail for the second of two; the first stands elsewhere.
func (l *loader) failTwice(at, first api.Pos, message, hint string) {
	l.add(api.Problem{Pos: at, See: first, Message: message, Hint: hint})
}

// add keeps a problem, or counts it.
func (l *loader) add(p api.Problem) {
	h := heap{p.Pos.File, p.Warning}
	if l.room(h) <= 0 {
		l.untold[h]++
		return
	}
	l.count[h]++
	l.count[heap{warning: h.warning}]++
	l.problems = append(l.problems, p)
}

// addAll keeps problems in the order of their positions, however they were found.
func (l *loader) addAll(found []api.Problem) {
	slices.SortFunc(found, compareProblems)
	for _, p := range found {
		l.add(p)
	}
}

// room is how many more problems are kept: nothing needs to be found out about those that are not.
func (l *loader) room(h heap) int {
	return min(MaxTold-l.count[h], MaxToldInAll-l.count[heap{warning: h.warning}])
}

// tell returns the problems by position, as many as anybody reads, and how many more there are.
func (l *loader) tell() []api.Problem {
	slices.SortFunc(l.problems, compareProblems)
	var out []api.Problem
	told := map[heap]int{}
	for i, p := range l.problems {
		h := heap{p.Pos.File, p.Warning}
		if told[h] < MaxTold {
			told[h]++
			p.Message, p.Hint = brief(p.Message), brief(p.Hint)
			out = append(out, p)
		} else {
			l.untold[h]++
		}
		if i+1 == len(l.problems) || l.problems[i+1].Pos.File != p.Pos.File {
			out = append(out, l.more(p.Pos.File)...)
		}
	}
	return append(out, l.further()...)
}

// more returns how many problems of a file are not told.
func (l *loader) more(file string) []api.Problem {
	var out []api.Problem
	for _, warning := range []bool{false, true} {
		h := heap{file, warning}
		if n := l.untold[h]; n > 0 {
			out = append(out, api.Problem{Pos: api.Pos{File: file}, Warning: warning, Message: fmt.Sprintf("and %d more in this file", n)})
		}
		delete(l.untold, h)
	}
	return out
}

// further returns how many problems are not told of files that none is told of.
func (l *loader) further() []api.Problem {
	var out []api.Problem
	for _, warning := range []bool{false, true} {
		n, files := 0, 0
		for h, more := range l.untold {
			if h.warning == warning && more > 0 {
				n += more
				files++
			}
		}
		if n > 0 {
			out = append(out, api.Problem{Warning: warning, Message: fmt.Sprintf("and %d more in %d other files", n, files)})
		}
	}
	return out
}

// brief keeps the beginning and the end of a message: what is wrong stands there, and what was written between.
func brief(message string) string {
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
