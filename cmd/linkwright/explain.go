package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/report/output"
)

func explainCommand() *cobra.Command {
	var out cli.Format
	c := &cobra.Command{
		Use:   "explain [KIND[.FIELD...] | REASON | STATUS]",
		Short: "Explain a field of a declaration, a reason or a status",
		Long: `Explain a field of a declaration: its type, default and values, and the fields
below it. Leave out indexes of lists: mesh.spec.except.source is the source of a
link that a mesh leaves out.

With a REASON, such as GatewayNotAlive, or a STATUS, such as Stalled, explain
what it means and what to do.`,
		Example: `  linkwright explain
  linkwright explain cluster
  linkwright explain link.spec.controller.replicas -o json
  linkwright explain GatewayNotAlive`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			a, err := explained(args)
			if err != nil {
				return err
			}
			return cli.Write(c.OutOrStdout(), out.Format, a)
		},
	}
	out.Add(c.Flags(), report.DescribeFormats())
	return c
}

// explained explains all kinds, a field or a reason.
func explained(args []string) (report.Answer, error) {
	if len(args) == 0 {
		return explainKinds()
	}
	e, like := reasonNamed(args[0])
	if e.Code != "" {
		return report.Plain(reasonDoc(e), fmt.Sprintf("%s\n\n%s", e.Code, reasoned(e))), nil
	}
	path := fieldPath(args[0])
	kind, err := api.Declaration(path[0])
	if err != nil {
		return report.Answer{}, cli.Usage("%w", explainable(path, like, err))
	}
	f, err := kind.Find(path[1:]...)
	if err != nil {
		if meant := fieldsAt(path[1:], kind); len(meant) > 0 {
			err = fmt.Errorf("%s has no field %s; did you mean %s?", kind.Name, strings.Join(path[1:], "."), strings.Join(meant, " or "))
		}
		return report.Answer{}, cli.Usage("%w", err)
	}
	name := strings.Join(append([]string{kind.Name}, path[1:]...), ".")
	return report.Plain(explanationDoc(name, f), explanation(kind.Name, path[1:], f)), nil
}

// reasonNamed is the reason of a name, in any case of its letters; zero: there is none. like names similar ones.
func reasonNamed(name string) (e reason.Entry, like string) {
	var codes []string
	for _, e := range append(reason.All(), report.Words()...) {
		if strings.EqualFold(string(e.Code), name) {
			return e, ""
		}
		codes = append(codes, string(e.Code))
	}
	return reason.Entry{}, cli.DidYouMean(name, codes)
}

// explainable is the error about a path that does not begin with a kind. It names fields of that path without its beginning, or reasons and
// statuses that are like it.
func explainable(path []string, like string, err error) error {
	if meant := fieldsAt(path, kindFields()...); len(meant) > 0 {
		return fmt.Errorf("there is no kind %q; did you mean %s?", path[0], strings.Join(meant, " or "))
	}
	if len(path) > 1 {
		return err
	}
	if near, ok := api.Nearest(path[0], api.Kinds()); ok && like == "" {
		like = fmt.Sprintf(" (did you mean %s?)", near)
	}
	return fmt.Errorf("there is no kind, reason or status %q%s", path[0], cmp.Or(like,
		fmt.Sprintf(": use one of %s, or a reason or status that an output shows", strings.Join(api.Kinds(), ", "))))
}

func kindFields() (out []api.Field) {
	for _, name := range api.Kinds() {
		if f, err := api.Declaration(name); err == nil {
			out = append(out, f)
		}
	}
	return out
}

// fieldsAt are the first fields whose path ends in path, in any case of its letters.
func fieldsAt(path []string, kinds ...api.Field) (out []string) {
	const most = 4
	ending := "." + strings.ToLower(strings.Join(path, "."))
	var below func(f api.Field, at string)
	below = func(f api.Field, at string) {
		for _, b := range f.Below() {
			name := at + "." + b.Name
			if strings.HasSuffix(strings.ToLower(name), ending) {
				out = append(out, name)
			}
			below(b, name)
		}
	}
	for _, k := range kinds {
		below(k, k.Name)
	}
	return out[:min(len(out), most)]
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

func explainKinds() (report.Answer, error) {
	doc := output.List[output.Explanation]{TypeMeta: output.Of(output.KindExplanationList)}
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	for _, name := range api.Kinds() {
		f, err := api.Declaration(name)
		if err != nil {
			return report.Answer{}, err
		}
		doc.Items = append(doc.Items, explanationDoc(name, f))
		_, _ = fmt.Fprintf(table, "%s\t%s\n", name, firstSentence(f.Description))
	}
	_ = table.Flush() // into memory
	return report.Plain(doc, b.String()), nil
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
		if value := text(below.Default); value != "" {
			said += ", default " + value
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
