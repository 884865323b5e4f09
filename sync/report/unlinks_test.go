package report

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
)

// services are n mirrors of a target.
func services(n int, target api.ClusterName) (out []object.Key) {
	for i := range n {
		out = append(out, object.Key{Kind: "Service", Namespace: "shop", Name: fmt.Sprintf("web%d-%s", i, target)})
	}
	return out
}

// going is the removal of a link as it goes if nothing is in the way.
func going(source, target api.ClusterName, m plan.Mirrors) plan.Unlink {
	mirrors := append(append([]object.Key{}, m.Services...), m.Federated...)
	return plan.Unlink{Link: link(source, target), Target: target, Mirrors: m, Deadline: 5 * time.Minute, Stages: []plan.UnlinkStage{
		{Kind: plan.EmptySelectors, Cluster: source, Objects: []object.Key{key("Link", string(target))}},
		{Kind: plan.RemoveMirrors, Cluster: source, Objects: mirrors},
		{Kind: plan.DeleteObjects, Cluster: source, Objects: []object.Key{key("Deployment", "controller-"+string(target)), key("Link", string(target)), key("Role", "r"), key("Secret", "s")}},
		{Kind: plan.DeleteObjects, Cluster: target, Objects: []object.Key{key("ServiceAccount", "a"), key("Secret", "t")}},
	}}
}

// removedObjects is a cluster of which a link is removed.
func removedObjects(name api.ClusterName) ClusterDiff {
	undeclared := object.Reason{Code: reason.Undeclared, Message: "no longer declared"}
	return ClusterDiff{Name: name, Rows: []plan.Row{base(name)}, Objects: []ObjectDiff{
		{Action: object.Delete, Key: key("Deployment", "controller-east"), Why: undeclared, Before: body(`{'kind':'Deployment','metadata':{'name':'controller-east'}}`)},
		{Action: object.Delete, Key: key("Secret", "cluster-credentials-east"), Why: undeclared, Before: body(`{'kind':'Secret','data':{'kubeconfig':'c2VjcmV0IHZhbHVl'}}`)},
	}}
}

// unlinked is a link that goes, and one whose new selectors choose less.
func unlinked() Diff {
	federated := []object.Key{{Kind: "Service", Namespace: "shop", Name: "cart-federated"}}
	north := plan.Mirrors{Known: true, Services: services(5, "north")}
	return Diff{
		Created:  []plan.NewLink{newLink("north", "west", "a=b"), newLink("south", "east", "a=b"), newLink("south", "west", "")},
		Unlinks:  []plan.Unlink{going("west", "east", plan.Mirrors{Known: true, Services: services(12, "east"), Serving: 11, Federated: federated})},
		Narrowed: []plan.Narrowing{{Link: link("west", "north"), Mirrors: north, Lost: north.Services[:2]}, {Link: link("west", "south")}},
		Clusters: []ClusterDiff{removedObjects("west")},
	}
}

// newLink is a link that begins to choose services.
func newLink(source, target api.ClusterName, mirrored string) plan.NewLink {
	n := plan.NewLink{Link: link(source, target)}
	n.Mirrored, n.Discovered, n.Federated = mirrored, "c=d", "e in (f,g)"
	return n
}

// unlinkedMany are links that go in each of the ways that there are.
func unlinkedMany() Diff {
	much := object.Because(reason.PruneLimitExceeded, "this revision exceeds prune limits: run linkwright approve 3f9c0e51b7a2 | @team")
	draining := object.Because(reason.Draining, "61 mirrored objects left")
	down := object.Because(reason.Unreachable, "dial tcp 192.0.2.7:6443: i/o timeout")
	access := object.Because(reason.WaitingForSource, "cluster dead cannot be read: its access stays")
	var d Diff
	for _, source := range []api.ClusterName{"a", "b"} {
		u := going(source, "old", plan.Mirrors{Known: true, Services: services(len(d.Unlinks)+1, "old")})
		u.Stopped = much
		d.Unlinks = append(d.Unlinks, u)
	}
	begun := plan.Unlink{Link: link("c", "old"), Target: "old", Begun: true, Waiting: draining, Mirrors: plan.Mirrors{Known: true, Services: services(1, "old")}}
	unread := plan.Unlink{Link: link("dead", "old"), Target: "old", Waiting: access, Mirrors: plan.Mirrors{Unread: down}}
	swept := going("e", "old", plan.Mirrors{Known: true, Services: services(2, "old")})
	swept.Stages = append([]plan.UnlinkStage{swept.Stages[2], {Kind: plan.DeleteMirrors, Cluster: "e", Objects: swept.Services}}, swept.Stages[3:]...)
	swept.Federated = []object.Key{{Kind: "Service", Namespace: "shop", Name: "cart-federated"}}
	swept.Waiting = object.Because(reason.Waiting, "Secret linkerd/s stays while Linkerd resolves Services through it")
	empty := going("d", "old", plan.Mirrors{Known: true})
	kept := plan.Unlink{Link: link("h", "old"), Target: "old", Stopped: much, Mirrors: plan.Mirrors{Known: true}}
	kept.Waiting = object.Because(reason.PruneDisabled, "Secret linkerd/s has the annotation linkwright.dev/prune=disabled")
	d.Unlinks = append(d.Unlinks, begun, empty, unread, swept, kept, going("f", "old", plan.Mirrors{}), going("g", "old", plan.Mirrors{}))
	d.Clusters = []ClusterDiff{{Name: "c", Rows: []plan.Row{base("c"), {End: at("c", begun.Link), Leaving: true, Phase: plan.Waiting, Why: draining}}}}
	return d
}

func TestUnlinks(t *testing.T) {
	for name, d := range map[string]Diff{"diff-unlink": unlinked(), "diff-unlinks": unlinkedMany()} {
		t.Run(name, func(t *testing.T) {
			golden(t, name, Formats(), func(b *strings.Builder, f Format) error { return d.Write(b, f, keyOf) })
		})
	}
}

// However many links go, a comment has room for them, and for the objects of which it says something else.
func TestCommentHasRoomForUnlinks(t *testing.T) {
	for _, n := range []int{60, 500, 4000} {
		d := Diff{Clusters: []ClusterDiff{removedObjects("west")}}
		for i := range n {
			u := going("west", api.ClusterName(fmt.Sprint("target-", i)), plan.Mirrors{Known: true, Services: services(20, "east")})
			if i%2 == 0 {
				u.Waiting = object.Because(reason.Waiting, "%s is waited for", strings.Repeat("x", i%300))
			}
			d.Unlinks, d.Created = append(d.Unlinks, u), append(d.Created, newLink("west", u.Link.Target, fmt.Sprint("n=", i)))
		}
		var b strings.Builder
		if err := d.Write(&b, Markdown, nil); err != nil {
			t.Fatal(err)
		}
		if got := utf8.RuneCountInString(b.String()); got > 65_536 || !strings.Contains(b.String(), "delete 2 objects") {
			t.Errorf("%d links: a comment of %d characters", n, got)
		}
		if n > 60 != strings.Contains(b.String(), "More links are removed") {
			t.Errorf("%d links: the comment does not say whether it names all:\n%s", n, b.String()[b.Len()-2000:])
		}
	}
}

// Many new links are counted, and some of them named, although all of their names have no room in a comment.
func TestCommentCountsNewLinks(t *testing.T) {
	var d Diff
	for i := range 2000 {
		d.Created = append(d.Created, newLink("west", api.ClusterName(fmt.Sprint("target-", i)), "a=b"))
	}
	var b strings.Builder
	if err := d.Write(&b, Markdown, nil); err != nil {
		t.Fatal(err)
	}
	if want := "2000 links are new: west→target-0, "; !strings.Contains(b.String(), want) || !strings.Contains(b.String(), " and 1900 more. ") {
		t.Errorf("a comment of %d characters, want %q:\n%.2000s", utf8.RuneCountInString(b.String()), want, b.String())
	}
}
