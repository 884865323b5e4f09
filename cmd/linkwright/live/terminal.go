package live

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/linkwright/linkwright/sync/progress"
)

// Terminal says that a writer is a terminal that can be drawn on.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// Same says that what is written to both writers is read in one place: both are one file, such as a terminal, or a pipe after 2>&1.
func Same(a, b io.Writer) bool {
	one, ok := a.(*os.File)
	other, is := b.(*os.File)
	if !ok || !is {
		return false
	}
	first, err := one.Stat()
	if err != nil {
		return false
	}
	second, err := other.Stat()
	return err == nil && os.SameFile(first, second)
}

// SizeOf asks a terminal for its size, each time: it may change.
func SizeOf(w io.Writer) progress.Size {
	usual := progress.Size{Width: 80, Height: 24}
	f, ok := w.(*os.File)
	if !ok {
		return usual
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return usual
	}
	return progress.Size{Width: width, Height: height}
}

// Colour says when there are colours. It is a flag.
type Colour string

// Colours.
const (
	Auto   Colour = "auto"
	Always Colour = "always"
	Never  Colour = "never"
)

func (c *Colour) String() string { return string(*c) }

// Type implements pflag.Value.
func (*Colour) Type() string { return "when" }

// Set implements pflag.Value.
func (c *Colour) Set(word string) error {
	switch Colour(word) {
	case Auto, Always, Never:
		*c = Colour(word)
		return nil
	}
	return fmt.Errorf("want %s, %s or %s", Auto, Always, Never)
}

// On says that a writer gets colours: as the flag says, else as NO_COLOR and CLICOLOR_FORCE say (https://no-color.org,
// https://bixense.com/clicolors), else if it is a terminal.
func (c Colour) On(w io.Writer) bool {
	switch {
	case c == Always:
		return true
	case c == Never || os.Getenv("NO_COLOR") != "":
		return false
	case os.Getenv("CLICOLOR_FORCE") != "" && os.Getenv("CLICOLOR_FORCE") != "0":
		return true
	}
	return Terminal(w)
}
