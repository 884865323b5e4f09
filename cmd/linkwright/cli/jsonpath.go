package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"

	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/report/output"
)

// parseJSONPath reads a template as kubectl does: a field that is not there prints nothing.
func parseJSONPath(template string) (*jsonpath.JSONPath, error) {
	p := jsonpath.New("output").AllowMissingKeys(true)
	return p, p.Parse(template)
}

// writeJSONPath fills a template from the answer's JSON.
func writeJSONPath(w io.Writer, template string, a report.Answer) error {
	p, err := parseJSONPath(template)
	if err != nil {
		return err
	}
	data, err := generic(a.Document)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := p.Execute(&b, data); err != nil {
		return fmt.Errorf("jsonpath %q: %w", template, err)
	}
	_, err = io.WriteString(w, report.Inert(b.String()))
	return err
}

// generic is a document as JSON has it: maps, lists, strings, whole numbers and others.
func generic(document any) (any, error) {
	raw, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	var out any
	if err := utiljson.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return out, nil
}

// column is one of custom-columns.
type column struct {
	header string
	path   *jsonpath.JSONPath
}

// relaxed is a path as kubectl takes it: {.a.b}, {a.b}, .a.b or a.b.
func relaxed(path string) (string, error) {
	found := regexp.MustCompile(`^\{\.?([^{}]+)\}$|^\.?([^{}]+)$`).FindStringSubmatch(path)
	if found == nil {
		return "", fmt.Errorf("%q is no path: write .field or {.field}", path)
	}
	return "{." + found[1] + found[2] + "}", nil
}

// parseColumns reads HEADER:PATH,HEADER:PATH as kubectl does.
func parseColumns(spec string) ([]column, error) {
	var out []column
	for one := range strings.SplitSeq(spec, ",") {
		header, path, ok := strings.Cut(one, ":")
		if !ok || header == "" || path == "" {
			return nil, errors.New("want HEADER:PATH, separated by commas")
		}
		path, err := relaxed(path)
		if err != nil {
			return nil, err
		}
		p, err := parseJSONPath(path)
		if err != nil {
			return nil, err
		}
		out = append(out, column{header, p})
	}
	return out, nil
}

// writeColumns writes a row for each item of the answer.
func writeColumns(w io.Writer, spec string, a report.Answer) error {
	columns, err := parseColumns(spec)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var rows [][]string
	if !a.NoHeaders {
		rows = append(rows, cells(columns, func(c column) string { return c.header }))
	}
	for _, item := range output.Items(a.Document) {
		data, err := generic(item)
		if err != nil {
			return err
		}
		rows = append(rows, cells(columns, func(c column) string { return c.of(data) }))
	}
	for _, row := range rows {
		if _, err := fmt.Fprintln(t, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return t.Flush()
}

func cells(columns []column, of func(column) string) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = of(c)
	}
	return out
}

// of is the cell of an item: all values that the path finds.
func (c column) of(data any) string {
	found, err := c.path.FindResults(data)
	var values []string
	for _, list := range found {
		for _, v := range list {
			values = append(values, report.Printable(fmt.Sprint(v.Interface())))
		}
	}
	if err != nil || len(values) == 0 {
		return "<none>"
	}
	return strings.Join(values, ",")
}
