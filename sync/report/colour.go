package report

import (
	"io"
	"regexp"
	"strings"
)

// Symbol is a sign for a status, as `linkerd check` has them.
func (s Status) Symbol() string {
	switch s {
	case Ready, Removed, Released:
		return "√"
	case Progressing, Leaving:
		return "►"
	case Stalled, Blocked, Denied:
		return "×"
	case Unknown:
		return "‼"
	case Suspended:
		return "‖"
	}
	return "·"
}

// Painted is a text in the colour of the status.
func (s Status) Painted(text string) string {
	code := map[string]string{"√": "32", "►": "36", "×": "31", "‼": "33", "‖": "34"}[s.Symbol()]
	if code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Coloured is a terminal that shows colours: reports that are written to it as text have statuses painted.
type Coloured struct{ io.Writer }

// painted is a text report as a writer shows it. A status is painted where it is a cell, counted, or a sign of a check at the beginning of
// a line.
func painted(w io.Writer, text string) string {
	if _, ok := w.(Coloured); !ok {
		return text
	}
	var words []string
	for _, s := range Statuses() {
		words = append(words, string(s))
	}
	cells := regexp.MustCompile(`(?m)(^|  |base |[0-9] )(` + strings.Join(words, "|") + `)(  | \(|[,;]|$)`)
	signs := map[string]Status{"√": Ready, "×": Denied, "‼": Unknown}
	text = cells.ReplaceAllStringFunc(text, func(cell string) string {
		m := cells.FindStringSubmatch(cell)
		return m[1] + Status(m[2]).Painted(m[2]) + m[3]
	})
	return regexp.MustCompile(`(?m)^[√×‼]|[√×]$`).ReplaceAllStringFunc(text, func(sign string) string { return signs[sign].Painted(sign) })
}
