package plan

import (
	"strings"
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
)

// A command that a message names is that of this installation: it has the owner and the namespace where they are not the usual ones.
func TestCommandsNameTheInstallation(t *testing.T) {
	for suffix, w := range map[string]World{
		"": {Owner: "linkwright", Namespace: "linkwright"}, " --owner blue": {Owner: "blue"},
		" --owner blue --namespace ops": {Owner: "blue", Namespace: "ops"}, " --namespace ops": {Owner: "linkwright", Namespace: "ops"},
	} {
		w.Departed = []fleet.Cluster{{Name: "east"}}
		p := &planner{World: w, name: "east"}
		hidden := object.Hidden{Key: object.Key{Kind: "Secret"}}.Why()
		for want, said := range map[string]string{
			"linkwright resume east" + suffix:                                     w.suspendedBy(inventory.Decision{Kind: inventory.Suspend, Cluster: "east"}),
			"linkwright resume west/east" + suffix:                                w.suspendedBy(inventory.Decision{Kind: inventory.Suspend, Source: "west", Target: "east"}),
			"linkwright abandon east" + suffix:                                    p.grantable("east", hidden).Message,
			"linkwright approve 0f" + suffix:                                      prune.Removal{Hash: "0f", Over: []string{"a"}, In: w.installation()}.Why().Message,
			"read Secret: grant it by linkwright cluster add --all PATH" + suffix: object.Hidden{Key: object.Key{Kind: "Secret"}, By: w.installation()}.Why().Message,
			"cluster add --all PATH" + suffix:                                     w.unwatched([]object.Key{{Kind: "Secret"}}).Message,
		} {
			if !strings.HasSuffix(said, want) {
				t.Errorf("%q does not end with %q", said, want)
			}
		}
	}
}
