package output

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"

	"go.yaml.in/yaml/v3"
)

// JSON encodes an answer. Whatever a terminal or a runner of CI would act on is escaped; values stay what they are.
func JSON(answer any) (string, error) {
	text, err := encoded(answer)
	if err != nil {
		return "", err
	}
	return escaped(text, func(r rune) string {
		var b strings.Builder
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
		return b.String()
	}), nil
}

// WriteJSON writes an answer as JSON encodes it. The links and clusters of a report are encoded one by one: together they can be hundreds of MiB.
func WriteJSON(w io.Writer, answer any) error {
	r, ok := answer.(SyncReport)
	if !ok {
		text, err := JSON(answer)
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, text)
		return err
	}
	out := bufio.NewWriter(w)
	if err := writeReport(out, r); err != nil {
		return err
	}
	return out.Flush()
}

// writeReport writes a report around its lists. Only keys of the report itself follow a new line and two spaces.
func writeReport(w *bufio.Writer, r SyncReport) error {
	links, clusters := r.Links, r.Clusters
	if len(links) > 0 {
		r.Links = []Link{}
	}
	if len(clusters) > 0 {
		r.Clusters = []Cluster{}
	}
	text, err := JSON(r)
	if err != nil {
		return err
	}
	head, rest, _ := strings.Cut(text, "\n  \"links\": ")
	middle, end, _ := strings.Cut(rest, "\n  \"clusters\": ")
	_, _ = w.WriteString(head + "\n  \"links\": ") // Flush reports errors, here and below
	if err := writeList(w, links, middle, ","); err != nil {
		return err
	}
	_, _ = w.WriteString("\n  \"clusters\": ")
	return writeList(w, clusters, end, "\n}\n")
}

// writeList writes a list of a report, and what follows. Without elements it is written as it was encoded.
func writeList[T any](w *bufio.Writer, list []T, encoded, after string) error {
	if len(list) == 0 {
		_, _ = w.WriteString(encoded)
		return nil
	}
	for i, one := range list {
		text, err := JSON(one)
		if err != nil {
			return err
		}
		between := ",\n    "
		if i == 0 {
			between = "[\n    "
		}
		_, _ = w.WriteString(between + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    "))
	}
	_, _ = w.WriteString("\n  ]" + after)
	return nil
}

// YAML encodes the same document as JSON, with its fields in the same order.
func YAML(answer any) (string, error) {
	text, err := encoded(answer)
	if err != nil {
		return "", err
	}
	// JSON is YAML, if nothing in it has to be escaped.
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(escaped(text, escapedInYAML)), &doc); err != nil {
		return "", fmt.Errorf("encode as YAML: %w", err)
	}
	restyle(&doc)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	e.CompactSeqIndent()
	if err := e.Encode(&doc); err != nil {
		return "", fmt.Errorf("encode as YAML: %w", err)
	}
	return escaped(b.String(), escapedInYAML), nil
}

func escapedInYAML(r rune) string { return fmt.Sprintf(`\U%08x`, r) }

func encoded(answer any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(answer); err != nil {
		return "", fmt.Errorf("encode: %w", err)
	}
	return b.String(), nil
}

// escaped has nothing in quoted text that does not print, and no "##", which runners of CI take for the beginning of a command.
func escaped(text string, one func(rune) string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(text, "##", "#"+one('#')) {
		if r == '\n' || unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(one(r))
	}
	return b.String()
}

// restyle writes a document as people write YAML. Text that escaped would change, and text of several lines, stays in quotes.
func restyle(n *yaml.Node) {
	quoted := n.Kind == yaml.ScalarNode && n.Tag == "!!str" && !plain(n.Value)
	empty := n.Kind != yaml.ScalarNode && n.Kind != yaml.DocumentNode && len(n.Content) == 0 // [] and {}
	if !quoted && !empty {
		n.Style = 0
	}
	for _, below := range n.Content {
		restyle(below)
	}
}

func plain(text string) bool {
	return !strings.Contains(text, "##") && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}
