package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/linkwright/linkwright/hack/demo/recording"
)

// width is the number of columns that the script's lines need at most.
const width = recording.MaxWidth - recording.Indent

// screen writes to the terminal, and keeps the lines of the script.
type screen struct {
	out   io.Writer
	start time.Time
	steps int
	lines []recording.Line
}

// add writes a line. It ignores errors: a closed terminal shows nothing.
func (s *screen) add(kind recording.Kind, text string) {
	l := recording.Line{At: time.Since(s.start), Kind: kind, Text: text}
	s.lines = append(s.lines, l)
	_, _ = fmt.Fprintln(s.out, l)
}

// heading writes the title of the next step.
func (s *screen) heading(title string) {
	s.steps++
	s.add(recording.Output, "")
	s.add(recording.Heading, fmt.Sprintf("%d. %s", s.steps, title))
}

// result writes what a step achieved.
func (s *screen) result(format string, a ...any) { s.add(recording.Result, fmt.Sprintf(format, a...)) }

// command writes a command and what it printed.
func (s *screen) command(command, output string) {
	s.add(recording.Command, command)
	s.block(output)
}

// block writes a text of several lines.
func (s *screen) block(text string) {
	for line := range strings.Lines(text) {
		s.add(recording.Output, strings.TrimRight(line, "\n"))
	}
}

// table writes aligned rows; the first has the titles of the columns.
func (s *screen) table(rows [][]string) {
	widths := map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell)+3)
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		s.add(recording.Output, strings.TrimRight(line.String(), " "))
	}
}

// note writes a line at the left edge that belongs to no step and to no recording.
func (s *screen) note(format string, a ...any) { _, _ = fmt.Fprintf(s.out, format+"\n", a...) }

// wrap joins words with commas, in lines of at most so many columns.
func wrap(words []string, columns int) (lines []string) {
	line := ""
	for i, w := range words {
		if i < len(words)-1 {
			w += ","
		}
		switch {
		case line == "":
			line = w
		case utf8.RuneCountInString(line+" "+w) > columns:
			lines, line = append(lines, line), w
		default:
			line += " " + w
		}
	}
	return append(lines, line)
}

// count is a number with its noun, as "1 link" and "2 links".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
