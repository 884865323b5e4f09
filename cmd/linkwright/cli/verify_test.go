package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/sync/source"
)

// Keys of the management cluster are read for every visit, all entries of them, and are named where one is none.
func TestVerifyKeysOfTheManagementCluster(t *testing.T) {
	const public = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f ann\n"
	config := map[string][]byte{"ann.pub": []byte(public)}
	v := verifyFlags{
		mode: "HEAD", secret: "s", configMap: "c", files: []string{filepath.Join(t.TempDir(), "file")},
		secrets: func(context.Context, string) (map[string][]byte, error) {
			return map[string][]byte{"k": []byte(public)}, nil
		},
		configMaps: func(context.Context, string) (map[string][]byte, error) { return config, nil },
	}
	if err := os.WriteFile(v.files[0], []byte(public), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := v.options(source.Options{})
	if err != nil {
		t.Fatalf("options: %v", err)
	}
	first, err := o.Trust.Keys(t.Context())
	if err != nil {
		t.Fatalf("Keys: %v", err)
	}
	if again, err := o.Trust.Keys(t.Context()); err != nil || !again.Same(first) {
		t.Errorf("Keys of the same files: %v, or not the same", err)
	}
	config = map[string][]byte{"ann.pub": []byte(public + "# and nobody else\n")}
	if changed, err := o.Trust.Keys(t.Context()); err != nil || changed.Same(first) {
		t.Errorf("Keys once the ConfigMap has changed: %v, or still the same", err)
	}
	config = map[string][]byte{"note": []byte("rubble")}
	if _, err = o.Trust.Keys(t.Context()); err == nil || !strings.Contains(err.Error(), "ConfigMap c, note:1: ") {
		t.Errorf("Keys with rubble: %v", err)
	}
}
