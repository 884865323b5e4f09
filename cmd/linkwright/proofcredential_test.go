package main

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/state"
)

// A credential is either kept or replaced, and what the plan of an adoption says of its Secret agrees with the note about it.
func TestAdoptedCredential(t *testing.T) {
	for account, replaced := range map[string]bool{
		"linkwright-access:linkwright.west":                   false, // as a release leaves it
		"linkerd-multicluster:linkerd-service-mirror-default": true,
	} {
		secret := object.Key{Kind: "Secret", Namespace: "linkerd-multicluster", Name: "cluster-credentials-east"}
		west := state.Cluster{Reading: state.Read}
		edit := west.Live.Edit()
		edit.Put(secret, object.Record{UID: "u"}, credentialOf(t, account))
		west.Live = edit.Observation()
		c := object.Change{End: object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "east"}}, Action: object.Adopt, Key: secret}
		p := &proof{snapshot: state.Snapshot{Clusters: map[api.ClusterName]state.Cluster{"west": west}}, adoptions: []object.Change{c}}
		p.snapshot.Owner, p.snapshot.Fleet = object.DefaultOwner, &fleet.Fleet{}

		var notes strings.Builder
		p.notes(&notes)
		said := p.then(c)
		if got := strings.Contains(notes.String(), "The next sync replaces it"); got != replaced || (said == "replaces its token") != replaced {
			t.Errorf("a token of %s: next sync %q, notes %q, want replaced %t", account, said, notes.String(), replaced)
		}
	}
}

// credentialOf is the Secret of a link's credential, with a token of an account (namespace:name).
func credentialOf(t *testing.T, account string) object.Body {
	t.Helper()
	claims := base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"system:serviceaccount:` + account + `"}`))
	config := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- {name: c, context: {user: u}}\nusers:\n- name: u\n  user: {token: a." + claims + ".b}\n"
	raw, err := json.Marshal(map[string]any{"kind": "Secret", "data": map[string]string{"kubeconfig": base64.StdEncoding.EncodeToString([]byte(config))}})
	if err != nil {
		t.Fatal(err)
	}
	return object.NewBody(raw)
}
