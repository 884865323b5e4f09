package enroll

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/report/output"
)

// results are declarations to commit, and what was written for them.
type results struct {
	head    string // a comment before all declarations
	notes   []string
	docs    []*doc
	written []output.Write
	commit  string   // of bootstrap
	local   []string // clusters that linkwright is to reach by addresses of this machine
}

// warnLocal says which clusters only this machine reaches, in one line.
func (r results) warnLocal(notes io.Writer) {
	if len(r.local) > 0 {
		cli.Say(notes, fmt.Sprintf("warning: linkwright is to reach %s by an address of this machine: if it runs elsewhere, give --api-server; other clusters use apiServer of the declaration", strings.Join(r.local, ", ")))
	}
}

// answer is all of it. As text, it is a file of declarations.
func (r results) answer(w cli.Writing) (report.Answer, error) {
	out := output.DeclarationList{
		TypeMeta: output.Of(output.KindDeclarationList), DryRun: w.DryMode(), Items: []output.Declaration{}, Notes: r.notes, Written: r.written,
	}
	var text bytes.Buffer
	text.WriteString(r.head)
	for _, n := range r.notes {
		text.WriteString("# " + n + "\n")
	}
	for _, d := range r.docs {
		if err := d.write(&text); err != nil {
			return report.Answer{}, err
		}
		out.Items = append(out.Items, output.Declaration{Declaration: d.declaration(), Notes: d.notes})
	}
	return report.Plain(out, text.String()), nil
}

// declaration is what is committed.
func (d *doc) declaration() map[string]any {
	return map[string]any{
		"apiVersion": api.GroupVersion, "kind": d.kind, "metadata": map[string]any{"name": d.name}, "spec": d.spec,
	}
}

// wrote adds a write of an object of which there was one before, or not.
func (r *results) wrote(w output.Write, was bool) {
	if w.Action = "create"; was {
		w.Action = "update"
	}
	w.Times = 1
	r.written = append(r.written, w)
}

// group is that of an API version; empty: the core group.
func group(apiVersion string) string {
	of, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return ""
	}
	return of
}
