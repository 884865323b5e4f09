package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
)

// proof is what an adoption would do, object by object, and what a sync would do after it.
type proof struct {
	snapshot  state.Snapshot
	adoptions []object.Change
	rows      []plan.Row // of ends that are not adopted
	refused   map[api.ClusterName]*object.Reason
	next      map[api.ClusterName]report.ClusterDiff // of adopted links
	again     map[api.ClusterName][]object.Key       // that the next sync writes, whether a dry run shows a difference or not
	blocked   map[object.End]*object.Reason          // why the next sync cannot write ends of adopted links
	failed    []error
}

// prove plans the adoption, and tries what comes after it by dry runs, except in a dry run of the client.
func (e engine) prove(ctx context.Context, w state.Snapshot, mode cli.DryRun) *proof {
	p := &proof{
		snapshot: w, again: map[api.ClusterName][]object.Key{}, refused: map[api.ClusterName]*object.Reason{}, next: map[api.ClusterName]report.ClusterDiff{}, blocked: map[object.End]*object.Reason{},
	}
	first, then := adoptions(w, e.Loop.Renderer, e.Loop.Policies)
	for _, name := range sortedNames(w) {
		if s := first[name]; s.Denied != nil {
			p.refused[name] = s.Denied
		}
		for _, r := range first[name].Rows {
			if r.Phase != plan.Ready && r.Phase != plan.Changing {
				p.rows = append(p.rows, r)
			}
		}
		p.adoptions = append(p.adoptions, first[name].Changes...)
	}
	ends := map[object.End]bool{}
	for _, c := range p.adoptions {
		ends[about(c.End)] = true
	}
	for _, name := range sortedNames(w) {
		p.block(then[name], ends)
	}
	if mode == cli.DryRunClient {
		return p
	}
	for _, name := range sortedNames(w) {
		cd := report.ClusterDiff{Name: name}
		for _, c := range lastChanges(then[name]) {
			if ends[about(c.End)] && !bookkeeping(e.Loop.Owner, c.Key) {
				p.repeats(c)
				cd.Objects = append(cd.Objects, dryRuns(e).afterwards(ctx, p, c)...)
			}
		}
		p.next[name] = cd
	}
	return p
}

// about is what the adoption of an end is about: the link with both ends, or the base of one cluster.
func about(end object.End) object.End {
	if end.IsBase() {
		return end
	}
	return object.End{Link: end.Link}
}

// repeats notes what the next sync writes.
func (p *proof) repeats(c object.Change) {
	if name := c.End.Cluster; c.Action != object.Delete {
		p.again[name] = append(p.again[name], c.Key)
	}
}

// block notes which ends of adopted links are blocked or denied after all steps of a cluster, but not those that only wait for what happens by itself,
// such as a token.
func (p *proof) block(steps []plan.Step, adopted map[object.End]bool) {
	if len(steps) == 0 {
		return
	}
	for _, r := range steps[len(steps)-1].Rows {
		closed := r.Phase == plan.Denied || r.Phase == plan.Blocked && r.Condition().Reason != reason.Progressing
		if closed && adopted[about(r.End)] && r.Why != nil {
			p.blocked[r.End] = r.Why
		}
	}
}

// afterwards tries one change of the sync after the adoption. Of a Link, its exclude lists are a change of their own.
func (e dryRuns) afterwards(ctx context.Context, p *proof, c object.Change) []report.ObjectDiff {
	adopted := p.adopts(c.End.Cluster, c.Key)
	if adopted {
		c.Why = object.Reason{Code: reason.Declared, Message: "as declared"}
	}
	od, err := e.preview(ctx, c)
	if err != nil {
		if why := cluster.Explain(err); why.Code != reason.NotFound {
			p.failed = append(p.failed, fmt.Errorf("cluster %s: dry run: %s %s: %s: %s", c.End.Cluster, c.Action, c.Key, why.Code, why.Message))
		}
		return nil
	}
	if c.Action == object.Delete && !adopted {
		return nil
	}
	if c.Action != object.Update && c.Action != object.Drain {
		return []report.ObjectDiff{od}
	}
	if len(differing(od.Before, od.After)) == 0 {
		return nil
	}
	return excludes(od)
}

func (p *proof) adopts(name api.ClusterName, k object.Key) bool {
	return slices.ContainsFunc(p.adoptions, func(c object.Change) bool { return c.End.Cluster == name && c.Key == k })
}

// excludes splits the change of a Link: its exclude lists change what of a Service's marks is copied to mirrors.
func excludes(od report.ObjectDiff) []report.ObjectDiff {
	if od.Key.Kind != "Link" {
		return []report.ObjectDiff{od}
	}
	before, middle := decodedBody(od.Before), decodedBody(od.After)
	for _, list := range []string{"excludedLabels", "excludedAnnotations"} {
		was, had := field(before, "spec")[list]
		if delete(field(middle, "spec"), list); had {
			field(middle, "spec")[list] = was
		}
	}
	raw, err := json.Marshal(middle)
	if err != nil {
		return []report.ObjectDiff{od}
	}
	rest, lists := od, od
	rest.After, lists.Before = object.NewBody(raw), object.NewBody(raw)
	lists.Why.Message = "exclude lists: what the service mirror does not copy to mirrors; a change makes it read its credential again"
	var out []report.ObjectDiff
	for _, one := range []report.ObjectDiff{rest, lists} {
		if len(differing(one.Before, one.After)) > 0 {
			out = append(out, one)
		}
	}
	return out
}

// verdict: something cannot be adopted, written by the next sync, or tried.
func (p *proof) verdict() error {
	if len(p.rows)+len(p.refused)+len(p.blocked)+len(p.failed) > 0 {
		return cli.Exit{Code: cli.ExitPartial, Err: errors.Join(p.failed...)}
	}
	return nil
}

// diff is the same for programs: what the adoption writes, and what the next sync writes after it.
func (p *proof) diff() (d report.Diff) {
	for _, name := range sortedNames(p.snapshot) {
		cd := report.ClusterDiff{Name: name, Denied: p.refused[name], Next: p.next[name].Objects}
		for _, r := range p.rows {
			if r.End.Cluster == name {
				cd.Rows = append(cd.Rows, r)
			}
		}
		for _, c := range p.adoptions {
			if c.End.Cluster == name {
				cd.Objects = append(cd.Objects, named(c))
			}
		}
		d.Clusters = append(d.Clusters, cd)
	}
	return d
}

// write shows the adoption, and then the sync after it.
func (p *proof) write(out io.Writer) error {
	for _, name := range slices.Sorted(maps.Keys(p.refused)) {
		cli.Say(out, fmt.Sprintf("%s: nothing is adopted: %s: %s", name, p.refused[name].Code, p.refused[name].Message))
	}
	for _, r := range p.rows {
		if p.refused[r.End.Cluster] == nil && r.Why != nil {
			cli.Say(out, fmt.Sprintf("%s: nothing is adopted: %s: %s", r.End, r.Why.Code, r.Why.Message))
		}
	}
	if len(p.adoptions) == 0 {
		if len(p.rows)+len(p.refused)+len(p.failed) == 0 {
			cli.Say(out, "nothing to adopt")
		}
		return nil
	}
	var end object.End
	for _, c := range p.adoptions {
		if c.End != end {
			end = c.End
			cli.Say(out, fmt.Sprintf("%s: adopt", end))
			if why := p.blocked[end]; why != nil {
				cli.Say(out, fmt.Sprintf("  the next sync cannot write this end: %s: %s", why.Code, why.Message))
			}
		}
		p.object(out, c)
	}
	p.notes(out)
	if len(p.next) == 0 { // nothing was tried
		return nil
	}
	return p.after(out)
}

// object shows what is written to one object now, and by the next sync.
func (p *proof) object(out io.Writer, c object.Change) {
	now := "linkwright's labels and annotations (" + object.OwnerLabel + ")"
	if linkerd.ReleaseOf(p.body(c)) != (linkerd.Helm{}) {
		now += ", " + object.HelmPolicy + ": " + object.HelmKeep
	}
	cli.Say(out, fmt.Sprintf("  %s (%s)\n    now         %s", c.Key, c.Why.Message, now))
	if len(p.next) > 0 {
		cli.Say(out, "    next sync   "+p.then(c))
	}
}

func (p *proof) body(c object.Change) object.Body {
	body, _ := p.snapshot.Clusters[c.End.Cluster].Live.Body(c.Key)
	return body
}

// then says what the sync after the adoption does to an object.
func (p *proof) then(c object.Change) string {
	var said []string
	for _, od := range p.next[c.End.Cluster].Objects {
		switch {
		case od.Key != c.Key:
		case od.Action == object.Delete:
			said = append(said, "deletes it, because it is not declared or has a replacement")
		default:
			what := strings.Join(differing(od.Before, od.After), ", ")
			if c.Key.Kind == "Deployment" && strings.Contains(what, "spec.template") {
				what += " (restarts its pods)"
			}
			said = append(said, "changes "+what)
		}
	}
	switch {
	case len(said) == 0 && p.blocked[c.End] != nil:
		return "nothing, because this end is blocked"
	case len(said) == 0 && p.replaced(c):
		said = append(said, "replaces its token")
	}
	if p.applied(c) {
		said = append(said, "removes annotation "+corev1.LastAppliedConfigAnnotation)
	}
	switch {
	case len(said) > 0:
	case slices.Contains(p.again[c.End.Cluster], c.Key):
		return "writes it once more, with the same content"
	default:
		return "nothing"
	}
	return strings.Join(said, "; ")
}

// applied reports whether the next sync removes what kubectl noted on an object when it applied it.
func (p *proof) applied(c object.Change) bool {
	_, noted := field(field(decodedBody(p.body(c)), "metadata"), "annotations")[corev1.LastAppliedConfigAnnotation]
	return noted && slices.Contains(p.again[c.End.Cluster], c.Key) && c.Was.WrittenBy("kubectl", "kubectl-client-side-apply")
}

// notes show what no diff shows.
func (p *proof) notes(out io.Writer) {
	for _, c := range p.adoptions {
		if p.replaced(c) {
			cli.Say(out, p.credential(c))
		}
	}
	for _, c := range p.adoptions {
		if name := linkerd.LegacyLocalAccess(c.End.Link.Target); c.Key.Kind == "ClusterRoleBinding" && c.Key.Name == name {
			cli.Say(out, fmt.Sprintf("note: ClusterRole %s in %s stays. It grants nothing once its binding is gone: you can delete it", name, c.End.Cluster))
		}
	}
}

// replaced reports whether a credential is another account's, so that the next sync replaces it.
func (p *proof) replaced(c object.Change) bool {
	account := render.Account(p.snapshot.Owner, c.End.Link.Source)
	return c.Key.Kind == "Secret" && c.End.IsSource() && subject(linkerd.TokenOf(p.body(c))) != account.Namespace+"/"+account.Name
}

// credential is a line about how one is replaced without an interruption.
func (p *proof) credential(c object.Change) string {
	account := render.Account(p.snapshot.Owner, c.End.Link.Source)
	was := cmp.Or(subject(linkerd.TokenOf(p.body(c))), "another account")
	loaded := "the service mirror reads it when the Link changes, in the same sync"
	if c.Key.Namespace != p.spec(c.End.Cluster).MulticlusterNamespace {
		loaded = "linkerd-destination uses the former token until linkwright restarts it, within 5 minutes"
	}
	return fmt.Sprintf("note: %s in %s holds a token of %s. The next sync replaces it with a token of %s/%s in %s. The former token stays valid, because its account is not linkwright's: %s",
		c.Key, c.End.Cluster, was, account.Namespace, account.Name, c.End.Link.Target, loaded)
}

func (p *proof) spec(name api.ClusterName) api.Linkerd {
	if c, ok := p.snapshot.Fleet.Cluster(name); ok {
		return c.Spec.Linkerd
	}
	return api.Linkerd{}
}

// subject is the account that a token is for. Nothing else of the token is read.
func subject(token object.Secret) string {
	var claims struct {
		Sub string `json:"sub"`
	}
	if !token.Claims(&claims) {
		return ""
	}
	return report.Printable(strings.ReplaceAll(strings.TrimPrefix(claims.Sub, "system:serviceaccount:"), ":", "/"))
}

// after shows the differences themselves.
func (p *proof) after(out io.Writer) error {
	var d report.Diff
	for _, name := range slices.Sorted(maps.Keys(p.next)) {
		d.Clusters = append(d.Clusters, p.next[name])
	}
	cli.Say(out, fmt.Sprintf("\nAfter the adoption, the next sync writes %s once more, to manage their fields. It removes fields that kubectl or Helm set\nand nobody declares: no dry run shows these.", object.Count(p.rewritten(), "adopted object")))
	if !slices.ContainsFunc(d.Clusters, func(c report.ClusterDiff) bool { return len(c.Objects) > 0 }) {
		cli.Say(out, "Beside that, it changes nothing.")
		return nil
	}
	cli.Say(out, "Beside that, it changes:\n")
	return d.Write(out, report.Text, func(name api.ClusterName) string { return p.snapshot.Clusters[name].Facts.UID })
}

// rewritten is how many of the adopted objects the next sync writes.
func (p *proof) rewritten() (n int) {
	for _, c := range p.adoptions {
		if slices.Contains(p.again[c.End.Cluster], c.Key) {
			n++
		}
	}
	return n
}

// adopted sums up what was written.
func adopted(out io.Writer, clusters []report.Cluster) error {
	done, failed := 0, []error(nil)
	for _, c := range clusters {
		for _, o := range c.Outcomes {
			switch {
			case o.Err != nil:
				failed = append(failed, fmt.Errorf("cluster %s: %w", c.Name, o.Err))
			case o.Change.Action == object.Adopt:
				done++
			}
		}
		for _, r := range c.Step.Rows {
			if r.Why != nil && r.Phase != plan.Ready {
				failed = append(failed, fmt.Errorf("%s: %s: %s", r.End, r.Why.Code, r.Why.Message))
			}
		}
	}
	cli.Say(out, "\nadopted: "+object.Count(done, "object"))
	if len(failed) > 0 {
		return cli.Exit{Code: cli.ExitPartial, Err: errors.Join(failed...)}
	}
	return nil
}
