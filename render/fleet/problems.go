package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/linkwright/linkwright/api"
)

// problemKey is the file and severity by which problems are counted.
type problemKey struct {
	file    string
	warning bool
}

func (l *loader) fail(at api.Pos, message, hint string) {
	l.add(api.Problem{Pos: at, Message: message, Hint: hint})
}

// failTwice is fail for the second of two conflicting declarations.
func (l *loader) failTwice(at, first api.Pos, message, hint string) {
	l.add(api.Problem{Pos: at, See: first, Message: message, Hint: hint})
}

// add keeps a problem, or only counts it if there are too many.
func (l *loader) add(p api.Problem) {
	h := problemKey{p.Pos.File, p.Warning}
	if l.room(h) <= 0 {
		l.dropped[h]++
		return
	}
	l.reported[h]++
	l.reported[problemKey{warning: h.warning}]++
	l.problems = append(l.problems, p)
}

// addAll keeps problems in the order of their positions, however they were found.
func (l *loader) addAll(found []api.Problem) {
	slices.SortFunc(found, compareProblems)
	for _, p := range found {
		l.add(p)
	}
}

// room is the number of problems that may still be added; callers need not compute hints for more.
func (l *loader) room(h problemKey) int {
	return min(MaxProblems-l.reported[h], MaxProblemsInTotal-l.reported[problemKey{warning: h.warning}])
}

// report returns the problems by position, up to the bounds, and counts the rest.
func (l *loader) report() []api.Problem {
	slices.SortFunc(l.problems, compareProblems)
	var out []api.Problem
	written := map[problemKey]int{}
	for i, p := range l.problems {
		h := problemKey{p.Pos.File, p.Warning}
		if written[h] < MaxProblems {
			written[h]++
			p.Message, p.Hint = shorten(p.Message), shorten(p.Hint)
			out = append(out, p)
		} else {
			l.dropped[h]++
		}
		if i+1 == len(l.problems) || l.problems[i+1].Pos.File != p.Pos.File {
			out = append(out, l.moreInFile(p.Pos.File)...)
		}
	}
	return append(out, l.moreInOtherFiles()...)
}

// moreInFile counts the problems of a file that are left out.
func (l *loader) moreInFile(file string) []api.Problem {
	var out []api.Problem
	for _, warning := range []bool{false, true} {
		h := problemKey{file, warning}
		if n := l.dropped[h]; n > 0 {
			out = append(out, api.Problem{Pos: api.Pos{File: file}, Warning: warning, Message: fmt.Sprintf("and %d more in this file", n)})
		}
		delete(l.dropped, h)
	}
	return out
}

// moreInOtherFiles counts the problems of files of which all problems are left out.
func (l *loader) moreInOtherFiles() []api.Problem {
	var out []api.Problem
	for _, warning := range []bool{false, true} {
		n, files := 0, 0
		for h, dropped := range l.dropped {
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
