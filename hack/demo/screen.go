package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

const margin = "            "

// screen writes to the terminal.
type screen struct {
	out   io.Writer
	start time.Time
	steps int
}

func (s *screen) elapsed() time.Duration { return time.Since(s.start) }

// write ignores errors: a closed terminal shows nothing.
func (s *screen) write(format string, a ...any) { _, _ = fmt.Fprintf(s.out, format, a...) }

// head writes the title of a step.
func (s *screen) head(title string) {
	s.steps++
	s.write("\n[%5.1f s] %d. %s\n", s.elapsed().Seconds(), s.steps, title)
}

func (s *screen) line(format string, a ...any) { s.write(format+"\n", a...) }

// done writes what a step achieved.
func (s *screen) done(format string, a ...any) {
	s.write("[%5.1f s]    %s\n", s.elapsed().Seconds(), fmt.Sprintf(format, a...))
}

// block writes an indented text.
func (s *screen) block(text string) {
	for line := range strings.Lines(text) {
		s.write("%s%s", margin, line)
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
		s.line("%s%s", margin, strings.TrimRight(line.String(), " "))
	}
}
