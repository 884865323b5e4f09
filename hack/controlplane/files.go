package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	_ "embed"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
	nodefast "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	heartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
)

// componentUser is whom the cluster's own components are; the audit policy
// leaves them out.
const componentUser = "testbed:component"

//go:embed audit.yaml
var auditPolicy string

// files are the paths under the cluster's directory.
type files struct {
	cert, key   string // the API server's; the certificate is its own CA
	accountKey  string // signs service account tokens
	tokens      string
	kubeconfig  string // for tests
	internal    string // for the components
	auditPolicy string
	auditLog    string
	stages      string // kwok's
}

func paths(dir string) files {
	at := func(name string) string { return filepath.Join(dir, name) }
	return files{
		cert: at("apiserver.crt"), key: at("apiserver.key"), accountKey: at("account.key"),
		tokens: at("tokens.csv"), kubeconfig: at("kubeconfig"), internal: at("internal.kubeconfig"),
		auditPolicy: at("audit.yaml"), auditLog: at("audit.log"), stages: at("stages.yaml"),
	}
}

// writeFiles makes all that the components read at their start.
func writeFiles(opts options, port int) (files, error) {
	f := paths(opts.dir)
	cert, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"localhost"})
	if err != nil {
		return f, err
	}
	accountKey, err := newAccountKey()
	if err != nil {
		return f, err
	}
	admin, internal := rand.Text(), rand.Text()
	stages := []string{nodefast.DefaultNodeInit, heartbeat.DefaultNodeHeartbeatWithLease, podfast.DefaultPodReady, podfast.DefaultPodComplete, podfast.DefaultPodDelete}
	for path, data := range map[string]string{
		f.cert: string(cert), f.key: string(key), f.accountKey: accountKey,
		f.tokens:      tokenLine(admin, "testbed:admin") + tokenLine(internal, componentUser),
		f.auditPolicy: auditPolicy, f.auditLog: "", f.stages: strings.Join(stages, "\n---\n"),
	} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			return f, err
		}
	}
	server := fmt.Sprintf("https://127.0.0.1:%d", port)
	if err := writeKubeconfig(f.internal, access{opts.name, server, internal, cert}); err != nil {
		return f, err
	}
	return f, writeKubeconfig(f.kubeconfig, access{opts.name, server, admin, cert})
}

func newAccountKey() (string, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", err
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	return string(pem.EncodeToMemory(block)), nil
}

// tokenLine is one row of --token-auth-file: a user of the group that may do all.
func tokenLine(token, user string) string {
	uid := hex.EncodeToString([]byte(user))
	return fmt.Sprintf("%s,%s,%s,\"system:masters\"\n", token, user, uid)
}

// access is what a kubeconfig says.
type access struct {
	name, server, token string
	ca                  []byte
}

// writeKubeconfig writes one context, with the CA and the token inline.
func writeKubeconfig(path string, a access) error {
	config := clientcmdapi.NewConfig()
	config.CurrentContext = a.name
	config.Clusters[a.name] = &clientcmdapi.Cluster{Server: a.server, CertificateAuthorityData: a.ca}
	config.AuthInfos[a.name] = &clientcmdapi.AuthInfo{Token: a.token}
	config.Contexts[a.name] = &clientcmdapi.Context{Cluster: a.name, AuthInfo: a.name}
	return clientcmd.WriteToFile(*config, path)
}
