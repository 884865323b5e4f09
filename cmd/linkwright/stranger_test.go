package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// TestDeclaredStranger: whoever reads by a kubeconfig of ours sends nothing to an address that a commit declares for the
// target, unless it shows a certificate of the target's own CA.
func TestDeclaredStranger(t *testing.T) {
	t.Parallel()
	var heard atomic.Int64 // tokens
	stranger := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer t" {
			heard.Add(1)
		}
	}))
	stranger.Config.ErrorLog = log.New(io.Discard, "", 0)
	stranger.StartTLS()
	defer stranger.Close()
	own := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: stranger.Certificate().Raw}))
	for ca, want := range map[string]int64{anotherCA(t): 0, own: 1} { // the second: this test hears
		raw, err := linkerd.Kubeconfig(linkerd.Endpoint{Server: stranger.URL, CA: ca}, object.NewSecret([]byte("t")))
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := clientcmd.RESTConfigFromKubeConfig(raw)
		if err != nil {
			t.Fatal(err)
		}
		_, err = kubernetes.NewForConfigOrDie(cfg).CoreV1().Services("").List(t.Context(), metav1.ListOptions{})
		if got := heard.Swap(0); got != want || want == 0 && err == nil {
			t.Errorf("a stranger was sent %d tokens, want %d (%v)", got, want, err)
		}
	}
}

// anotherCA signed nothing of the stranger's.
func anotherCA(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
}
