package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// kubeconfig has a context per user and one per cluster, so that each can be chosen alone.
const kubeconfig = `
apiVersion: v1
kind: Config
current-context: good
clusters:
- {name: good, cluster: {server: "https://east.example.com", certificate-authority-data: ""}}
- {name: proxied, cluster: {server: "https://east.example.com", proxy-url: "http://proxy.example.com:3128"}}
- {name: insecure, cluster: {server: "https://east.example.com", insecure-skip-tls-verify: true}}
- {name: filed, cluster: {server: "https://east.example.com", certificate-authority: ca.crt}}
- {name: empty, cluster: {}}
users:
- {name: good, user: {token: hush}}
- {name: filed-cert, user: {client-certificate: c.crt, client-key-data: aHVzaA==}}
- {name: filed-key, user: {client-certificate-data: aHVzaA==, client-key: c.key}}
- {name: filed-token, user: {tokenFile: token}}
- {name: exec, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, interactiveMode: Never}}}
- {name: provider, user: {auth-provider: {name: gcp}}}
contexts:
- {name: good, context: {cluster: good, user: good}}
- {name: proxied, context: {cluster: proxied, user: good}}
- {name: insecure, context: {cluster: insecure, user: good}}
- {name: filed, context: {cluster: filed, user: good}}
- {name: empty, context: {cluster: empty, user: good}}
- {name: no-cluster, context: {cluster: absent, user: good}}
- {name: no-user, context: {cluster: good, user: absent}}
- {name: filed-cert, context: {cluster: good, user: filed-cert}}
- {name: filed-key, context: {cluster: good, user: filed-key}}
- {name: filed-token, context: {cluster: good, user: filed-token}}
- {name: exec, context: {cluster: good, user: exec}}
- {name: provider, context: {cluster: good, user: provider}}
`

func TestParseKubeconfig(t *testing.T) {
	all := Trust{Files: true, Exec: true}
	tests := []struct {
		context string
		trust   Trust
		want    string // of the error; empty: none
	}{
		{"", Trust{}, ""},
		{"good", Trust{}, ""},
		{"proxied", Trust{}, ""},
		{"absent", Trust{}, `it has no context "absent", only empty, exec, filed,`},
		{"no-cluster", Trust{}, `names cluster "absent"`},
		{"no-user", Trust{}, `names user "absent"`},
		{"empty", Trust{}, `cluster "empty" has no server`},
		{"insecure", all, `cluster "insecure" has insecure-skip-tls-verify: remove it`},
		{"filed", Trust{}, `cluster "filed" refers to a file by certificate-authority: give the content inline as certificate-authority-data`},
		{"filed-cert", Trust{Exec: true}, `user "filed-cert" refers to a file by client-certificate: give the content inline as client-certificate-data`},
		{"filed-key", Trust{}, `user "filed-key" refers to a file by client-key: `},
		{"filed-token", Trust{}, `user "filed-token" refers to a file by tokenFile: give the content inline as token`},
		{"exec", Trust{Files: true}, `user "exec" starts a program by exec`},
		{"provider", all, `user "provider" has an auth-provider`},
		{"exec", Trust{Exec: true}, ""},
	}
	for _, tt := range tests {
		cfg, err := ParseKubeconfig([]byte(kubeconfig), tt.context, tt.trust)
		if tt.want == "" && (err != nil || cfg.Host != "https://east.example.com") {
			t.Errorf("ParseKubeconfig(%q, %+v): got %v, want a configuration", tt.context, tt.trust, err)
		}
		if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hush")) {
			t.Errorf("ParseKubeconfig(%q, %+v): got %v, want %q", tt.context, tt.trust, err, tt.want)
		}
	}
}

func TestParseKubeconfigQuotesNothing(t *testing.T) {
	for _, raw := range []string{"hush", "users: hush", "{", "users: [{name: a, user: {token: {hush: hush}}}]"} {
		if _, err := ParseKubeconfig([]byte(raw), "", Trust{}); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("ParseKubeconfig(%s): got %v, want an error that quotes nothing", raw, err)
		}
	}
}

func TestTrustedFilesBeginInDir(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("hush"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := ParseKubeconfig([]byte(kubeconfig), "filed-token", Trust{Files: true, Dir: dir})
	if err != nil || cfg.BearerTokenFile != filepath.Join(dir, "token") {
		t.Fatalf("ParseKubeconfig: got %v, %v, want the token file in %s", cfg, err, dir)
	}
	cfg, err = ParseKubeconfig([]byte(kubeconfig), "exec", Trust{Exec: true, Dir: dir})
	if err != nil || cfg.ExecProvider.Command != filepath.Join(dir, "plugin") {
		t.Errorf("ParseKubeconfig: got %v, %v, want the plugin in %s", cfg, err, dir)
	}
}

func FuzzParseKubeconfig(f *testing.F) {
	f.Add([]byte(kubeconfig))
	f.Fuzz(func(t *testing.T, raw []byte) {
		cfg, err := ParseKubeconfig(raw, "", Trust{})
		if err != nil {
			return
		}
		if cfg.ExecProvider != nil || cfg.AuthProvider != nil || cfg.Insecure || cfg.BearerTokenFile != "" ||
			cfg.CAFile != "" || cfg.CertFile != "" || cfg.KeyFile != "" {
			t.Errorf("ParseKubeconfig(%s): got %+v, want inline data alone", raw, cfg)
		}
	})
}
