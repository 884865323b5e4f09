package enroll

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

// kubeconfigOf is a file with one context of its own, and context "both" on the same server.
func kubeconfigOf(t *testing.T, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	text := `apiVersion: v1
kind: Config
clusters:
- {name: ` + name + `, cluster: {server: "https://` + name + `.example.com", certificate-authority: ca.crt}}
users:
- {name: me, user: {token: t}}
contexts:
- {name: ` + name + `, context: {cluster: ` + name + `, user: me}}
- {name: both, context: {cluster: ` + name + `, user: me}}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "ca.crt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestKubeconfigsAreMerged(t *testing.T) {
	a, b := kubeconfigOf(t, "a"), kubeconfigOf(t, "b")
	t.Setenv("KUBECONFIG", a+string(filepath.ListSeparator)+filepath.Join(t.TempDir(), "none")+string(filepath.ListSeparator)+b)
	file, raw, err := cli.Kubeconfig("")
	if err != nil {
		t.Fatal(err)
	}
	for context, want := range map[string]string{"a": "a", "b": "b", "both": "a"} {
		cfg, err := cli.Login(file, raw, context)
		if err != nil {
			t.Errorf("context %s: %v", context, err)
			continue
		}
		if cfg.Host != "https://"+want+".example.com" {
			t.Errorf("context %s is of %s, want cluster %s", context, cfg.Host, want)
		}
		from := map[string]string{"a": a, "b": b}[want]
		if ca := filepath.Join(filepath.Dir(from), "ca.crt"); cfg.CAFile != ca {
			t.Errorf("context %s: CA %s, want %s, beside its own file", context, cfg.CAFile, ca)
		}
		if got := fileOf(file, context); got != from {
			t.Errorf("fileOf(%s) = %s, want %s", context, got, from)
		}
	}
}

func TestKubeconfigsThatHoldNoContext(t *testing.T) {
	t.Setenv("KUBECONFIG", "none"+string(filepath.ListSeparator)+"nothing")
	if file, _, err := cli.Kubeconfig(""); err == nil {
		t.Errorf("Kubeconfig gives %q, want an error: no file exists", file)
	}
}
