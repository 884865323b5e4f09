package recording

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"
	"unicode/utf8"
)

// MaxWidth is the number of columns of the picture.
const MaxWidth = 100

// The geometry in pixels. Common monospace fonts are 0.6 times as wide as high.
const (
	charWidth  = 8.4 // at a font size of 14
	lineHeight = 19
	padding    = 16
	titleBar   = 36
	baseline   = 14 // of a line, from its top
)

//go:embed picture.svg
var picture string

// Picture says what the SVG shows besides the lines.
type Picture struct {
	Title       string // of the window
	Description string // for screen readers
}

// SVG draws a recording. The same recording gives the same bytes. It fails if a line is wider than MaxWidth.
func (p Picture) SVG(lines []Line) ([]byte, error) {
	if len(lines) == 0 {
		return nil, errors.New("draw recording: it has no lines")
	}
	for _, l := range lines {
		if l.Width() > MaxWidth {
			return nil, fmt.Errorf("draw recording: a line has %d columns, at most %d fit: %s", l.Width(), MaxWidth, l)
		}
	}
	t, err := template.New("").Funcs(template.FuncMap{"xml": escape}).Parse(picture)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, draw(p, lines)); err != nil {
		return nil, fmt.Errorf("draw recording: %w", err)
	}
	return out.Bytes(), nil
}

// canvas is what the template needs.
type canvas struct {
	Picture
	Width, Height int
	Seconds       string
	Groups        []group
}

// group is a burst: From and To are percentages of the picture's time. To is empty on the last page, which stays.
type group struct {
	From, To string
	Texts    []text
}

// text is a part of a line in one style, at its place.
type text struct {
	Class   string
	X, Y    string
	Length  string // in pixels, so that columns stay aligned whatever the font is
	Content string
}

func draw(p Picture, lines []Line) canvas {
	bursts, total := play(lines)
	c := canvas{Picture: p, Seconds: number(total.Seconds()), Width: int(MaxWidth*charWidth) + 2*padding}
	height := 0
	for _, b := range bursts {
		height = max(height, b.row+len(b.lines))
		g := group{From: percent(b.from, total)}
		if b.to != total {
			g.To = percent(b.to, total)
		}
		for i, l := range b.lines {
			g.Texts = append(g.Texts, texts(l, b.row+i)...)
		}
		c.Groups = append(c.Groups, g)
	}
	c.Height = titleBar + height*lineHeight + 2*padding
	return c
}

// texts are the parts of a line that are not blank.
func texts(l Line, row int) []text {
	var out []text
	add := func(class string, column int, content string) {
		trimmed := strings.TrimLeft(content, " ")
		column += utf8.RuneCountInString(content) - utf8.RuneCountInString(trimmed)
		trimmed = strings.TrimRight(trimmed, " ")
		if trimmed == "" {
			return
		}
		out = append(out, text{
			Class: class, X: number(padding + float64(column)*charWidth), Y: number(float64(titleBar + padding + row*lineHeight + baseline)),
			Length: number(float64(utf8.RuneCountInString(trimmed)) * charWidth), Content: trimmed,
		})
	}
	switch l.Kind {
	case Heading:
		add("time", 0, l.stamp())
		add("heading", Indent, l.Text)
	case Result:
		add("time", 0, l.stamp())
		add("ok", utf8.RuneCountInString(l.stamp()), l.symbol())
		add("text", Indent, l.Text)
	case Command:
		add("ok", Indent, l.symbol())
		add("heading", Indent+utf8.RuneCountInString(l.symbol()), l.Text)
	default:
		add("output", Indent, l.Text)
	}
	return out
}

func percent(d, total time.Duration) string { return number(100 * d.Seconds() / total.Seconds()) }

// number writes up to two decimals.
func number(f float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", f), "0"), ".")
}

func escape(s string) (string, error) {
	var out strings.Builder
	err := xml.EscapeText(&out, []byte(s))
	return out.String(), err
}
