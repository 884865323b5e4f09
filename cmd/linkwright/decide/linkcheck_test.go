package decide

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
)

// A link that no inventory of its clusters has is refused, with the link that may be meant. If one of its clusters was not read, it is suspended, and
// the command says so. Targets are only asked for what sources do not have.
func TestLinkCheck(t *testing.T) {
	r := inventory.Record{Clusters: map[api.ClusterName]inventory.KnownCluster{"east": {Names: []api.ClusterName{"east-gw"}}, "north": {}, "west": {}}}
	have := map[api.ClusterName][]api.Pair{
		"east":  {{Source: "east", Target: "west"}, {Source: "west", Target: "east-gw"}},
		"north": {{Source: "west", Target: "north"}},
		"west":  {{Source: "east", Target: "west"}, {Source: "west", Target: "north"}, {Source: "west", Target: "east-gw"}},
	}
	for _, tt := range []struct {
		links, down string
		asked       string
		unchecked   string
		err         string
	}{
		{links: "west/north", asked: "west"},
		{links: "west/north", down: "north", asked: "west"},
		{links: "west/north", down: "west", asked: "west north"},
		{links: "west/east-gw", down: "west", asked: "west east"},
		{links: "east/west west/north", asked: "east west"},
		{
			links: "west/east", asked: "west east",
			err: "no cluster has an end of link west/east (did you mean west/east-gw?): linkwright get links --owner blue lists the links; " +
				"if no sync has written it yet, declare suspend: true in its Link",
		},
		{links: "north/west", asked: "north west", err: "no cluster has an end of link north/west (did you mean west/north?)"},
		{links: "north/east", asked: "north east", err: "no cluster has an end of link north/east: linkwright"},
		{
			links: "west/east", down: "east", asked: "west east", unchecked: "linkwright could not check that link west/east exists: " +
				"cluster east was not read (Unreachable). To check later: linkwright get links west/east --owner blue",
		},
	} {
		var asked []string
		check := linkCheck{of: &deciding{management: cli.ManagementFlags{Owner: "blue"}}, ask: func(_ context.Context, q Question) (links []api.Pair, unread map[api.ClusterName]object.Reason) {
			unread = map[api.ClusterName]object.Reason{}
			for _, name := range q.In {
				asked = append(asked, string(name))
				if string(name) == tt.down {
					unread[name] = object.Reason{Code: reason.Unreachable}
				} else {
					links = append(links, have[name]...)
				}
			}
			return links, unread
		}}
		all, err := suspensions(strings.Fields(tt.links))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the record was changed meanwhile
			unchecked, err := check.check(t.Context(), r, slices.Concat(all, []inventory.Decision{{Kind: inventory.Suspend, Cluster: "north"}}))
			if got := strings.Join(unchecked, "\n"); got != tt.unchecked || (err == nil) != (tt.err == "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
				t.Errorf("%s, %s down: %q, %v", tt.links, tt.down, got, err)
			}
		}
		if diff := cmp.Diff(strings.Fields(tt.asked), asked); diff != "" {
			t.Errorf("%s, %s down: asked: -want +got\n%s", tt.links, tt.down, diff)
		}
	}
}
