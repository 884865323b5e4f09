package plan

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/pair"
)

// A cluster that leaves a large mesh has many ends, and none goes on under another name: that is told at once.
func TestHeirIsFoundAtOnce(t *testing.T) {
	const clusters, asked = 150, 4000
	var names []api.ClusterName
	for i := range clusters {
		names = append(names, benchTarget(i))
	}
	w := World{Owner: owner, UIDs: map[api.ClusterName]string{"gone": "uid-gone"}, Sides: map[api.ClusterName]pair.Side{}}
	w.Fleet = declare(t, names, fmt.Sprintf("---\napiVersion: %s\nkind: Mesh\nmetadata: {name: all}\nspec: {clusters: {matchLabels: {in: mesh}}}\n", api.GroupVersion))
	for _, name := range names {
		w.Sides[name] = pair.Side{Known: true, Facts: linkerd.Facts{UID: "uid-" + string(name)}}
	}
	p := &planner{World: w, name: "gone"}
	before := processTime(t)
	for i := range asked {
		end := object.End{Cluster: "gone", Link: api.Pair{Source: "gone", Target: names[i%clusters]}}
		if l, ok := p.heir("gone", end); ok {
			t.Fatalf("%s goes on as %s", end, l.Pair())
		}
	}
	if took := processTime(t) - before; took > time.Second {
		t.Errorf("%d ends took %s", asked, took)
	}
	p.UIDs["gone"] = "uid-" + string(names[0])
	p.declaredAs = nil
	end := object.End{Cluster: names[1], Link: api.Pair{Source: "gone", Target: names[1]}}
	if l, ok := p.heir(names[1], end); !ok || l.Pair() != (api.Pair{Source: names[0], Target: names[1]}) {
		t.Errorf("%s goes on as %s, %t", end, l.Pair(), ok)
	}
}

// Whether an inventory names the former name of a cluster is told by its own name: of others not even the content matters.
func TestHandedOverByNames(t *testing.T) {
	for name, done := range map[string]bool{"linkwright.a.b": true, "linkwright.gone.b": false, "linkwright.a.gone": false} {
		w := linked(t, "").now()
		east := w.Sides["east"]
		k := object.Key{Kind: "ConfigMap", Namespace: object.AccessNamespace, Name: name}
		put(&east, k, nil, metav1.ObjectMeta{})
		record(&east.Seen, k, object.Record{UID: "broken", ResourceVersion: "1", Mark: object.Ours})
		w.Sides["east"] = east
		p := &planner{World: w, name: "gone"}
		if why := p.handingOver(); (why == nil) != done {
			t.Errorf("with an unreadable %s: %v", name, why)
		}
	}
}
