package live

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Sequences of a terminal. The cursor stays visible, and is below the tree after every write, so that nothing is to be repaired if the
// process ends at any moment. Lines are not wrapped while a tree is drawn: a character may be wider than it is counted.
const (
	up     = "\x1b[%dA" // lines
	erase  = "\x1b[J"   // from the cursor to the end of the screen
	rest   = "\x1b[K"   // of the line
	nowrap = "\x1b[?7l"
	wrap   = "\x1b[?7h"
)

// screen is a writer with a few lines at its end that change. Without such lines it writes nothing that is for terminals alone.
type screen struct {
	out   io.Writer
	width func() int // of the terminal now; nil: no line is ever longer
	lines []string   // that are drawn
}

// rows is how many rows the drawn lines take now. A terminal that became narrower breaks those that have no room any more.
func (s *screen) rows() (n int) {
	if s.width == nil {
		return len(s.lines)
	}
	width := max(s.width(), 1)
	for _, l := range s.lines {
		n += max((cells(l)+width-1)/width, 1)
	}
	return n
}

// cells is how many characters of a line are shown: all but sequences that end with m, which are those of colours.
func cells(line string) (n int) {
	for len(line) > 0 {
		before, after, colour := strings.Cut(line, "\x1b")
		if n += utf8.RuneCountInString(before); !colour {
			return n
		}
		_, line, _ = strings.Cut(after, "m")
	}
	return n
}

// draw has these lines be drawn in place of those before.
func (s *screen) draw(lines []string) {
	if slices.Equal(lines, s.lines) {
		return
	}
	var b strings.Builder
	b.WriteString("\r" + nowrap)
	if len(s.lines) > 0 {
		fmt.Fprintf(&b, up, s.rows())
	}
	for _, l := range lines {
		b.WriteString(l + rest + "\n")
	}
	b.WriteString(erase + wrap)
	_, _ = io.WriteString(s.out, b.String()) // a terminal that is gone shows nothing
	s.lines = lines
}

// write writes whole lines above the tree.
func (s *screen) write(p []byte) (int, error) {
	if len(s.lines) == 0 {
		return s.out.Write(p)
	}
	lines := s.lines
	s.clear()
	n, err := s.out.Write(p)
	s.draw(lines)
	return n, err
}

// clear takes the tree away.
func (s *screen) clear() {
	if len(s.lines) == 0 {
		return
	}
	_, _ = fmt.Fprintf(s.out, "\r"+up+erase, s.rows())
	s.lines = nil
}
