package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
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
	cert, key, err := newCertificate()
	if err != nil {
		return f, err
	}
	_, accountKey, err := newKey()
	if err != nil {
		return f, err
	}
	admin, internal := rand.Text(), rand.Text()
	stages := []string{nodefast.DefaultNodeInit, heartbeat.DefaultNodeHeartbeatWithLease, podfast.DefaultPodReady, podfast.DefaultPodComplete, podfast.DefaultPodDelete}
	for path, data := range map[string]string{
		f.cert: string(cert), f.key: string(key), f.accountKey: string(accountKey),
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

// newCertificate makes the API server's certificate, which is its own CA, and its key. Keys are of P-256: they are made, and handshakes
// answered, in a fraction of what RSA takes, and tests start a hundred clusters.
func newCertificate() (cert, key []byte, err error) {
	private, key, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "127.0.0.1"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key, nil
}

// newKey makes a private key, and its PEM.
func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
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
