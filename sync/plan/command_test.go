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
			"linkwright resume east" + suffix:                             w.SuspendedBy(inventory.Decision{Kind: inventory.Suspend, Cluster: "east"}).Message,
			"linkwright resume west/east" + suffix:                        w.SuspendedBy(inventory.Decision{Kind: inventory.Suspend, Source: "west", Target: "east"}).Message,
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

// A reason that a command ends has it in a field, as its message has it, also with what is added to the message.
func TestReasonsHaveTheirCommand(t *testing.T) {
	in := object.Installation{Owner: "blue"}
	denied := prune.Removal{Hash: "0f", Exceeded: []string{"a"}, In: in}.Why()
	for want, why := range map[string]*object.Reason{
		"linkwright resume east --owner blue": state.Snapshot{Installation: in}.SuspendedBy(inventory.Decision{Kind: inventory.Suspend, Cluster: "east", Reason: "run linkwright resume all"}),
		"linkwright approve 0f --owner blue":  denied,
	} {
		if why.Command != want || !strings.Contains(why.Message, want) {
			t.Errorf("%v has the command %q, want %q", why, why.Command, want)
		}
	}
	if row := deniedRow(Row{}, denied, 2); row.Why.Command != denied.Command || row.Why.Message == denied.Message {
		t.Errorf("a denied row: %v", row.Why)
	}
}
