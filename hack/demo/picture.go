package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/linkwright/linkwright/hack/demo/recording"
)

// writeSVG draws the lines of the script, without what belongs to this machine.
func (d *demo) writeSVG() error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("write picture: %w", err)
	}
	lines := make([]recording.Line, len(d.screen.lines))
	for i, l := range d.screen.lines {
		l.Text = neutral(l.Text, d.dir, host)
		lines[i] = l
	}
	picture := recording.Picture{
		Title: "make demo",
		Description: fmt.Sprintf("The demo links %d clusters from a Git repository, moves a gateway, and removes a link; "+
			"the last screen shows what was removed.", d.Clusters),
	}
	svg, err := picture.SVG(lines)
	if err != nil {
		return err
	}
	if err := os.WriteFile(d.SVG, svg, 0o644); err != nil { //nolint:gosec // a document
		return fmt.Errorf("write picture: %w", err)
	}
	d.screen.note("\nThe recording of this run is %s.", d.SVG)
	return nil
}

// neutral replaces the demo's directory, this machine's name and its ports.
func neutral(text, dir, host string) string {
	text = strings.ReplaceAll(text, dir, "$DEMO")
	text = regexp.MustCompile(`\b`+regexp.QuoteMeta(host)+`_\d+\b`).ReplaceAllString(text, "laptop_1")
	return regexp.MustCompile(`\b127\.0\.0\.1:\d+\b`).ReplaceAllString(text, "127.0.0.1:PORT")
}
