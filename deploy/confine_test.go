package deploy_test

import (
	"encoding/json"
	"flag"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/confine"
)

var update = flag.Bool("update", false, "write the table of the threat model")

// The file says what the program prints. The file comes from the Helm chart, which breaks lines elsewhere.
func TestConfinementFile(t *testing.T) {
	var got []any
	for _, o := range documents(t, "confine/confine.yaml") {
		got = append(got, o.Object)
	}
	raw, err := json.Marshal(confine.Objects(confine.Account{
		Owner: object.DefaultOwner, Namespace: namespace, Name: account, Multicluster: api.DefaultMulticlusterNamespace,
	}))
	if err != nil {
		t.Fatal(err)
	}
	var want []any
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deploy/confine/confine.yaml is not up to date (make generate): -want +got\n%s", diff)
	}
}
