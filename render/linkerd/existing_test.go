package linkerd

import (
	"strings"
	"testing"

	"github.com/linkwright/linkwright/object"
)

const (
	secretWord = "canary-7f3a"
	goodConfig = `
apiVersion: v1
kind: Config
current-context: canary-7f3a-context
contexts: [{name: other, context: {}}, {name: canary-7f3a-context, context: {cluster: canary-7f3a-cluster, user: canary-7f3a-user, namespace: x}}]
clusters: [{name: canary-7f3a-cluster, cluster: {server: "https://canary-7f3a.example.com:6443", certificate-authority-data: Q0E=}}]
users: [{name: canary-7f3a-user, user: {token: canary-7f3a-token}}]
preferences: {}
`
)

func TestCheckKubeconfig(t *testing.T) {
	tests := []struct{ name, from, to, says string }{
		{"as it should be", "", "", ""},
		{"with a client certificate", "token: canary-7f3a-token", "client-certificate-data: QQ==, client-key-data: QQ==", ""},
		{"with an empty plugin", "token:", "exec: null, token:", ""},
		{"no YAML", "apiVersion: v1", "canary-7f3a: [", "not a kubeconfig in YAML or JSON"},
		{"no kubeconfig", "contexts: [", "contexts: [canary-7f3a, ", "not a kubeconfig in YAML or JSON"},
		{"CA that is not base64", "Q0E=", "canary-7f3a!", "not a kubeconfig in YAML or JSON"},
		{"no current context", "current-context", "current", "no current-context"},
		{"unknown context", "current-context: canary-7f3a", "current-context: other-canary-7f3a", "current-context names a context"},
		{"unknown cluster", "cluster: canary-7f3a-cluster", "cluster: nobody", "names a cluster that it does not have"},
		{"unknown user", "user: canary-7f3a-user", "user: nobody", "names a user that it does not have"},
		{"no server", "server:", "host:", "not an https URL"},
		{"no TLS", "https:", "http:", "not an https URL"},
		{"no URL", "https://canary-7f3a.example.com:6443", "%canary-7f3a", "not an https URL"},
		{"loopback", "canary-7f3a.example.com", "127.0.0.1", "loopback address"},
		{"not verified", "certificate-authority-data: Q0E=", "insecure-skip-tls-verify: true", "insecure-skip-tls-verify"},
		{"CA in a file", "certificate-authority-data: Q0E=", "certificate-authority: /canary-7f3a", "certificate-authority refers to a file"},
		{"token in a file", "token: canary-7f3a-token", "tokenFile: /canary-7f3a", "tokenFile refers to a file"},
		{"certificate in a file", "token:", "client-certificate: /canary-7f3a, token:", "client-certificate refers to a file"},
		{"key in a file", "token:", "client-key: /canary-7f3a, token:", "client-key refers to a file"},
		{"a plugin", "token:", "exec: {command: canary-7f3a}, token:", "exec starts a program"},
		{"a provider", "token:", "auth-provider: {name: canary-7f3a}, token:", "auth-provider"},
		{"nothing to log in by", "token: canary-7f3a-token", "username: canary-7f3a, password: canary-7f3a", "neither a token nor a client certificate"},
		{"a certificate without key", "token: canary-7f3a-token", "client-certificate-data: QQ==", "neither a token nor a client certificate"},
	}
	for _, tt := range tests {
		if !strings.Contains(goodConfig, tt.from) {
			t.Fatalf("%s: changes nothing", tt.name)
		}
		err := CheckKubeconfig([]byte(strings.Replace(goodConfig, tt.from, tt.to, 1)), "")
		switch {
		case tt.says == "" && err != nil:
			t.Errorf("%s: CheckKubeconfig: %v", tt.name, err)
		case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)):
			t.Errorf("%s: CheckKubeconfig: %v, want %q", tt.name, err, tt.says)
		case err != nil && strings.Contains(err.Error(), secretWord):
			t.Errorf("%s: CheckKubeconfig quotes what it read: %v", tt.name, err)
		}
	}
}

func TestCheckKubeconfigDeclaredLoopback(t *testing.T) {
	raw := []byte(strings.Replace(goodConfig, "canary-7f3a.example.com", "127.0.0.1", 1))
	if err := CheckKubeconfig(raw, "https://127.0.0.1:6443"); err != nil {
		t.Errorf("CheckKubeconfig: %v, but the target's address is declared so", err)
	}
}

// What we write ourselves would pass.
func TestOwnKubeconfigIsUsable(t *testing.T) {
	raw, err := Kubeconfig(Endpoint{Server: "https://east.example.com", CA: "CA"}, object.NewSecret([]byte("t")))
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckKubeconfig(raw, ""); err != nil {
		t.Errorf("CheckKubeconfig(Kubeconfig()): %v", err)
	}
}

// A kubeconfig that somebody else wrote is refused or taken, and never quoted.
func FuzzCheckKubeconfig(f *testing.F) {
	f.Add([]byte(goodConfig))
	f.Add([]byte(`{"current-context":"a","contexts":[{"name":"a"}]}`))
	f.Add([]byte("a: &a [1]\nb: [*a, *a]"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if err := CheckKubeconfig(raw, ""); err != nil && strings.Contains(err.Error(), secretWord) {
			t.Errorf("CheckKubeconfig quotes what it read: %v", err)
		}
	})
}

func TestAnnounced(t *testing.T) {
	link := object.NewBody([]byte(`{"spec":{"clusterCredentialsSecret":"s","excludedAnnotations":["a/*","` + CredentialEntry("p") + `"]}}`))
	secret, entries := CredentialEntries(link)
	if secret != "s" || len(entries) != 1 || entries[0] != "linkwright.dev/credential-p" {
		t.Errorf("Announced: %s, %v", secret, entries)
	}
	if secret, entries := CredentialEntries(object.Body{}); secret != "" || len(entries) > 0 {
		t.Errorf("Announced of nothing: %s, %v", secret, entries)
	}
}
