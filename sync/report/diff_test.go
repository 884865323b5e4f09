package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
)

// body is JSON in which ' stands for ".
func body(s string) object.Body { return object.NewBody([]byte(strings.ReplaceAll(s, "'", `"`))) }

func keyOf(c api.ClusterName) string { return "uid of " + string(c) }

// changed is a diff with every action that has a form of its own.
func changed() Diff {
	we, gone := link("west", "east"), link("west", "old")
	l5d := object.Key{Group: "multicluster.linkerd.io", Kind: "Link", Namespace: "linkerd-multicluster", Name: "east"}
	return Diff{Clusters: []ClusterDiff{
		{Name: "east", Rows: []plan.Row{base("east"), inPlace("east", we)}},
		{Name: "north", Denied: object.Because(reason.DuplicateCluster, "north and south are one cluster"), Rows: []plan.Row{{End: at("north", we), Phase: plan.Blocked}}},
		{Name: "south", Denied: object.Because(reason.Timeout, "the API server does not answer"), Rows: []plan.Row{{End: at("south", link("west", "south")), Phase: plan.Blocked}}},
		{
			Name: "west",
			Rows: []plan.Row{base("west"), {End: at("west", we), Phase: plan.Changing}, {
				End: at("west", gone), Phase: plan.Waiting, Leaving: true, Why: object.Because(reason.Waiting, "mirrors: 2 not gone yet"),
			}},
			Objects: []ObjectDiff{
				{
					Action: object.Update, Key: l5d, Why: object.Reason{Code: reason.Changed, Message: "a fact changed"},
					Before: body(`{'apiVersion':'multicluster.linkerd.io/v1alpha3','kind':'Link','metadata':{'name':'east','uid':'1','generation':4,'resourceVersion':'7',
						'creationTimestamp':'2024-01-01T00:00:00Z','managedFields':[{}],'annotations':{'linkwright.dev/digest':'0000000000000001'}},
						'spec':{'gatewayAddress':'192.0.2.1','gatewayPort':'4143','targetClusterName':'east'},'status':{'mirrorServices':[]}}`),
					After: body(`{'apiVersion':'multicluster.linkerd.io/v1alpha3','kind':'Link','metadata':{'name':'east','annotations':{'linkwright.dev/digest':'0000000000000002'}},
						'spec':{'gatewayAddress':'192.0.2.9','gatewayPort':'4143','targetClusterName':'east'}}`),
				},
				{
					Action: object.Create, Key: key("Secret", "cluster-credentials-east"), Why: object.Reason{Code: reason.Missing, Message: "it does not exist yet"},
					After: body(`{'apiVersion':'v1','kind':'Secret','metadata':{'name':'cluster-credentials-east'},'type':'mirror.linkerd.io/remote-kubeconfig','data':{'kubeconfig':'e30='}}`),
				},
				{
					Action: object.Update, Key: key("ConfigMap", "linkwright.west.east"), Why: object.Reason{Code: reason.InventoryUpdated, Message: "records what this end may hold"},
					Before: body(`{'apiVersion':'v1','kind':'ConfigMap','data':{'inventory.json':'{\'version\':1,\'entries\':[{\'kind\':\'Secret\',\'name\':\'a\'}]}'}}`),
					After:  body(`{'apiVersion':'v1','kind':'ConfigMap','data':{'inventory.json':'{\'version\':1,\'entries\':[{\'kind\':\'Secret\',\'name\':\'a\'},{\'kind\':\'Secret\',\'name\':\'b\'}]}'}}`),
				},
				{
					Action: object.Update, Key: key("Service", "probe"), Why: object.Reason{Code: reason.Drift, Message: "fields were changed by kubectl"},
					Before: body(`{'kind':'Service','metadata':{'name':'probe','resourceVersion':'1'}}`), After: body(`{'kind':'Service','metadata':{'name':'probe','resourceVersion':'2'}}`),
				},
				{
					Action: object.Delete, Key: key("Deployment", "controller-old"), Why: object.Reason{Code: reason.Undeclared, Message: "no longer declared | ```@team"},
					Before: body(`{'kind':'Deployment','metadata':{'name':'controller-old','annotations':{'note':'\n` + "```" + `\n@team'}},'spec':{'replicas':1}}`),
				},
				{Action: object.Delete, Going: true, Key: key("Secret", "cluster-credentials-old"), Why: object.Reason{Code: reason.Undeclared, Message: "no longer declared"}},
				{Action: object.None, Key: key("Secret", "kept")},
			},
		},
	}}
}

// stays is what a commit changes in ends that are suspended: nothing.
func stays() Diff {
	d := Diff{}
	for _, c := range asDeclared().Clusters {
		d.Clusters = append(d.Clusters, ClusterDiff{Name: c.Name, Rows: c.Step.Rows})
	}
	return d
}

// refused is what a commit changes where nothing may be done: nothing, and that is no agreement.
func refused() Diff {
	we, gone := link("west", "east"), link("west", "old")
	much, occupied := object.Because(reason.PruneLimitExceeded, "this revision would remove 3 clusters"), object.Because(reason.ObjectExists, "Service probe-east exists")
	return Diff{Clusters: []ClusterDiff{{Name: "west", Rows: []plan.Row{
		base("west"), {End: at("west", we), Phase: plan.Blocked, Why: occupied}, {End: at("west", gone), Phase: plan.Denied, Leaving: true, Why: much},
	}}}}
}

// unfinished is what a commit changes while the removal of a link, which began before, waits: nothing, and that is no agreement.
func unfinished() Diff {
	draining := object.Because(reason.Draining, "61 mirrored objects left")
	return Diff{Clusters: []ClusterDiff{{Name: "west", Rows: []plan.Row{
		base("west"), {End: at("west", link("west", "old")), Phase: plan.Waiting, Leaving: true, Why: draining},
	}}}}
}

func TestUnfinished(t *testing.T) {
	for want, d := range map[bool]Diff{true: unfinished(), false: refused()} {
		if got := d.Unfinished(); got != want || d.Different() || d.Stopped() == want {
			t.Errorf("%+v: unfinished %t, different %t, stopped %t", d, got, d.Different(), d.Stopped())
		}
	}
}

func TestDiff(t *testing.T) {
	for name, d := range map[string]Diff{"diff": changed(), "diff-none": {Clusters: changed().Clusters[:1]}, "diff-suspended": stays(), "diff-refused": refused(), "diff-unfinished": unfinished()} {
		t.Run(name, func(t *testing.T) {
			golden(t, name, Formats(), func(b *strings.Builder, f Format) error { return d.Write(b, f, keyOf) })
		})
	}
}

func TestDifferent(t *testing.T) {
	for want, objects := range map[bool][]ObjectDiff{false: {{Action: object.None}}, true: {{Action: object.None}, {Going: true}}} {
		if got := (Diff{Clusters: []ClusterDiff{{}, {Objects: objects}}}).Different(); got != want {
			t.Errorf("Different(%v): %v", objects, got)
		}
	}
	if !changed().Different() {
		t.Error("Different: a changed fleet is the same")
	}
}

// What is refused or held is not done, whatever else is; what waits or is suspended comes, or was asked for.
func TestStopped(t *testing.T) {
	for standing, want := range map[plan.Phase]bool{
		plan.Denied: true, plan.Blocked: true, plan.Waiting: false, plan.Suspended: false, plan.Removed: false, plan.Ready: false,
	} {
		if got := (Diff{Clusters: []ClusterDiff{{Rows: []plan.Row{{Phase: standing}}}}}).Stopped(); got != want {
			t.Errorf("Stopped of what is %s: %v", standing, got)
		}
	}
	token := plan.Row{Phase: plan.Blocked, Why: object.Because(reason.CredentialNotIssued, "no token yet")}
	if (Diff{Clusters: []ClusterDiff{{Rows: []plan.Row{token}}}}).Stopped() {
		t.Error("Stopped: a token comes by itself")
	}
	if !(Diff{Clusters: []ClusterDiff{{Denied: object.Because(reason.DuplicateCluster, "twins")}}}).Stopped() {
		t.Error("Stopped: a refused cluster is as declared")
	}
}

// A comment that is too long is refused whole, so it is cut between objects.
func TestCommentHasRoom(t *testing.T) {
	d := Diff{Clusters: []ClusterDiff{{Name: "west"}}}
	for i := range 200 {
		long, err := json.Marshal(map[string]any{"kind": "Service", "spec": strings.Repeat("é ", 300)})
		if err != nil {
			t.Fatal(err)
		}
		d.Clusters[0].Objects = append(d.Clusters[0].Objects, ObjectDiff{
			Action: object.Create, Key: key("Service", fmt.Sprint("s", i)), After: object.NewBody(long),
		})
	}
	var b strings.Builder
	if err := d.Write(&b, Markdown, nil); err != nil {
		t.Fatal(err)
	}
	if n := utf8.RuneCountInString(b.String()); n > 65_536 || n < 50_000 {
		t.Errorf("a comment of %d characters", n)
	}
	if !strings.Contains(b.String(), "more objects not shown") || strings.Count(b.String(), "<details>") != strings.Count(b.String(), "</details>") {
		t.Errorf("the comment does not say what it omits, or is torn:\n%s", b.String()[b.Len()-300:])
	}
}

// A text calls a drain an update: its reason says which mirrors go. Programs get the action.
func TestDrainIsAnUpdate(t *testing.T) {
	link := object.Key{Group: "multicluster.linkerd.io", Kind: "Link", Namespace: "linkerd-multicluster", Name: "east"}
	why := object.Reason{Code: reason.Changed, Message: "its selectors no longer choose some services"}
	d := Diff{Clusters: []ClusterDiff{{Name: "west", Objects: []ObjectDiff{{Action: object.Drain, Key: link, Why: why}}}}}
	for format, want := range map[Format]string{Text: "west: 1 to update\n\nupdate Link.", Markdown: "update Link.", JSON: `"action": "drain"`} {
		var out strings.Builder
		if err := d.Write(&out, format, nil); err != nil || !strings.Contains(out.String(), want) || format != JSON && strings.Contains(out.String(), "drain") {
			t.Errorf("%s: %v, want %q in\n%s", format, err, want, out.String())
		}
	}
}
