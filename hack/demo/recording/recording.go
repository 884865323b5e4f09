// Package recording draws what a program wrote to a terminal as an animated SVG picture. It is for pages that run no
// script, such as a README: the picture is animated by CSS alone, and shows its last screen if CSS is not animated.
package recording

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Kind is the role of a line on the screen. It decides how the line begins, and its colour in the picture.
type Kind int

// The kinds of lines.
const (
	Output  Kind = iota // text without a time
	Heading             // the title of a step; a new page may begin here
	Result              // what a step achieved
	Command             // a command whose output follows
)

// Indent is the column at which the text of every kind begins.
const Indent = 11

// Line is one line of the screen.
type Line struct {
	At   time.Duration // since the program started
	Kind Kind
	Text string
}

// String is the line as the terminal shows it.
func (l Line) String() string {
	switch {
	case l.Kind == Heading || l.Kind == Result:
		return fmt.Sprintf("%s%-*s%s", l.stamp(), Indent-utf8.RuneCountInString(l.stamp()), l.symbol(), l.Text)
	case l.Kind == Command:
		return strings.Repeat(" ", Indent) + l.symbol() + l.Text
	case l.Text == "":
		return ""
	default:
		return strings.Repeat(" ", Indent) + l.Text
	}
}

// stamp is the time at which a step began or achieved something, as "  8.1s  ".
func (l Line) stamp() string { return fmt.Sprintf("%5.1fs  ", l.At.Seconds()) }

func (l Line) symbol() string {
	switch l.Kind {
	case Result:
		return "✓"
	case Command:
		return "$ "
	default:
		return ""
	}
}

// Width is the number of columns of the line.
func (l Line) Width() int { return utf8.RuneCountInString(l.String()) }
