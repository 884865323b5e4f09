package plan

import (
	"strings"
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/state"
)

// A command that a message names is that of this installation: it has the owner and the namespace where they are not the usual ones.
func TestCommandsNameTheInstallation(t *testing.T) {
	for suffix, in := range map[string]object.Installation{
		"": {Owner: "linkwright", Namespace: "linkwright"}, " --owner blue": {Owner: "blue"},
		" --owner blue --namespace ops": {Owner: "blue", Namespace: "ops"}, " --namespace ops": {Owner: "linkwright", Namespace: "ops"},
	} {
		w := state.Snapshot{Installation: in, Declarations: state.Declarations{Departed: []fleet.Cluster{{Name: "east"}}}}
		p := departure{newCluster(w, "east", nil, nil)}
		hidden := object.Hidden{Key: object.Key{Kind: "Secret"}}.Why()
		for want, said := range map[string]string{
			"linkwright resume east" + suffix:                             w.SuspendedBy(inventory.Decision{Kind: inventory.Suspend, Cluster: "east"}),
			"linkwright resume west/east" + suffix:                        w.SuspendedBy(inventory.Decision{Kind: inventory.Suspend, Source: "west", Target: "east"}),
			"linkwright abandon east" + suffix:                            p.adviseAbandon("east", hidden).Message,
			"linkwright approve 0f" + suffix:                              prune.Removal{Hash: "0f", Exceeded: []string{"a"}, In: w.Installation}.Why().Message,
			"read Secret: run linkwright cluster add --all PATH" + suffix: object.Hidden{Key: object.Key{Kind: "Secret"}, By: w.Installation}.Why().Message,
			"cluster add --all PATH" + suffix:                             p.polledOnly([]object.Key{{Kind: "Secret"}}).Message,
		} {
			if !strings.Contains(said+"; ", want+"; ") {
				t.Errorf("%q does not have the command %q", said, want)
			}
		}
	}
}
