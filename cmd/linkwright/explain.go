package main

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report"
)

func explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [KIND[.FIELD...] | REASON | STATUS]",
		Short: "Explain a field of a declaration, a reason or a status",
		Long: `Explain a field of a declaration: its type, default and values, and the fields
below it. Leave out indexes of lists: mesh.spec.except.source is the source of a
link that a mesh leaves out.

With a REASON, such as GatewayNotAlive, or a STATUS, such as Stalled, explain
what it means and what to do.`,
		Example: `  linkwright explain
  linkwright explain cluster
  linkwright explain link.spec.controller.replicas
  linkwright explain GatewayNotAlive`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return explainKinds(c.OutOrStdout())
			}
			for _, e := range append(reason.All(), report.Words()...) {
				if string(e.Code) == args[0] {
					_, err := fmt.Fprintf(c.OutOrStdout(), "%s\n\n%s", e.Code, reasoned(e))
					return err
				}
			}
			path := fieldPath(args[0])
			kind, err := api.Declaration(path[0])
			if err != nil {
				return cli.Usage("%w", explainable(path, err))
			}
			f, err := kind.Find(path[1:]...)
			if err != nil {
				return cli.Usage("%w", err)
			}
			_, err = io.WriteString(c.OutOrStdout(), explanation(kind.Name, path[1:], f))
			return err
		},
	}
}

// explainable adds to an error about one word which reasons and statuses are like it.
func explainable(path []string, err error) error {
	var words []string
	for _, e := range append(reason.All(), report.Words()...) {
		words = append(words, string(e.Code))
	}
	hint := cli.DidYouMean(path[0], words)
	if len(path) > 1 || hint == "" {
		return err
	}
	return fmt.Errorf("there is no kind, reason or status %q%s", path[0], hint)
}

// reasoned is what a reason means and what to do, as the reference page has it.
func reasoned(e reason.Entry) string {
	text := wrapped(e.Plain(e.Meaning))
	if e.Remedy != "" {
		text += "\nWhat to do:\n" + wrapped(e.Plain(e.Remedy))
	}
	return text
}

// fieldPath takes spec.except[0].source, as problems write it, for spec.except.source.
func fieldPath(text string) []string {
	text = regexp.MustCompile(`\[[^\]]*\]`).ReplaceAllString(text, "")
	return strings.Split(strings.Trim(text, "."), ".")
}

func explainKinds(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, name := range api.Kinds() {
		f, err := api.Declaration(name)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\n", name, firstSentence(f.Description))
	}
	return table.Flush()
}

// explanation is a page about one field.
func explanation(kind string, path []string, f api.Field) string {
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-10s%s\n", name+":", value)
		}
	}
	row("KIND", kind)
	row("FIELD", strings.Join(path, "."))
	row("TYPE", f.TypeName()+bounds(f.Limits))
	row("ONE OF", strings.Join(wordNames(f.Words), ", "))
	row("DEFAULT", text(f.Default))
	if len(path) > 0 {
		row("REQUIRED", map[bool]string{true: "yes", false: "no"}[f.Required])
	}
	if len(f.Examples) > 0 {
		row("EXAMPLE", text(f.Examples[0]))
	}
	for _, paragraph := range f.Paragraphs() {
		b.WriteString("\n" + wrapped(paragraph))
	}
	return b.String() + fieldsBelow(f)
}

func fieldsBelow(f api.Field) string {
	if len(f.Below()) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nFIELDS:\n")
	table := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	for _, below := range f.Below() {
		said := below.TypeName()
		if below.Required {
			said += ", required"
		}
		_, _ = fmt.Fprintf(table, "  %s\t%s\t%s\n", below.Name, said, firstSentence(below.Description))
	}
	_ = table.Flush() // into memory
	return b.String()
}

func wordNames(words []api.Word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.Name
	}
	return out
}

func bounds(l api.Limits) string {
	switch {
	case l.Least != nil && l.Most != nil:
		return fmt.Sprintf(", %v to %v", *l.Least, *l.Most)
	case l.Least != nil:
		return fmt.Sprintf(", at least %v", *l.Least)
	}
	return ""
}

// text is a value on one line: texts as they are, lists and mappings as JSON, which is YAML, too.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []any, map[string]any:
		out, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(out)
	}
	return fmt.Sprint(v)
}

func firstSentence(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if first, _, more := strings.Cut(text, ". "); more {
		return first + "."
	}
	return text
}

// wrapped breaks a paragraph into lines for a terminal of 80 columns.
func wrapped(text string) string {
	const width = 78
	var b strings.Builder
	line := " "
	for word := range strings.FieldsSeq(text) {
		if utf8.RuneCountInString(line)+utf8.RuneCountInString(word) >= width && line != " " {
			b.WriteString(line + "\n")
			line = " "
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}
