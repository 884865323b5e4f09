package deploy_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/confine"
)

var update = flag.Bool("update", false, "write deploy/confine/confine.yaml")

// confinement returns what deploy/cluster installs, as YAML.
func confinement(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	out.WriteString(`# Admission policies by which linkwright confines its own account: what RBAC cannot say (docs/explanation/threat-model.md). They are for
# requests of that account alone. Made by go test ./deploy -run TestConfinementFile -update; linkwright rbac --confine prints them for other names.
`)
	for i, o := range confine.Objects(confine.Account{
		Owner: object.DefaultOwner, Namespace: namespace, Name: account, Multicluster: api.DefaultMulticlusterNamespace,
	}) {
		text, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	return out.Bytes()
}

// The file says what the program prints.
func TestConfinementFile(t *testing.T) {
	const file = "confine/confine.yaml"
	want := confinement(t)
	if *update {
		if err := os.WriteFile(file, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not up to date (go test ./deploy -run TestConfinementFile -update): %v", file, err)
	}
}
