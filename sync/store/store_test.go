package store

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/state"
)

// A token that is not in place is remembered as long as its link is declared, and of mode Bound.
func TestIssuedIsForgotten(t *testing.T) {
	link := "---\napiVersion: %s\nkind: Link\nmetadata: {name: l}\nspec: {source: west, target: east, credentials: {mode: %s}}\n"
	for name, tt := range map[string]struct {
		links string
		want  int
	}{
		"mode Bound":       {fmt.Sprintf(link, api.GroupVersion, api.Bound), 1},
		"mode LegacyToken": {fmt.Sprintf(link, api.GroupVersion, api.LegacyToken), 0},
		"mode Existing":    {fmt.Sprintf(link, api.GroupVersion, api.Existing), 0},
		"undeclared":       {"", 0},
	} {
		s := New(Settings{})
		s.Credentials.Issue(api.Pair{Source: "west", Target: "east"}, object.NewSecret([]byte("token")))
		s.Enter(load(t, tt.links), inventory.Record{})
		s.PutCluster("east", state.Cluster{}, s.Declared.Epoch())
		if len(s.Credentials.issued.at) != tt.want {
			t.Errorf("%s: %d tokens are remembered, want %d", name, len(s.Credentials.issued.at), tt.want)
		}
	}
}

func load(t *testing.T, text string) *fleet.Fleet {
	t.Helper()
	for _, c := range []string{"west", "east"} {
		text += fmt.Sprintf("---\napiVersion: %s\nkind: Cluster\nmetadata: {name: %s}\nspec: {access: {kubeconfigSecret: {name: %s}}}\n", api.GroupVersion, c, c)
	}
	f, problems := fleet.Load("c", fstest.MapFS{"fleet.yaml": {Data: []byte(text)}})
	if f == nil {
		t.Fatalf("load: %v", problems)
	}
	return f
}
