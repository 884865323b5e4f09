package enroll

import (
	"bytes"
	"encoding/pem"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/hack/testbed"
)

// A source that serves only older versions of Linkerd Links has its links imported, too.
func TestImportOfOlderLinks(t *testing.T) {
	for _, versions := range [][]string{{"v1alpha1"}, {"v1alpha1", "v1alpha2"}, nil} {
		t.Run(strings.Join(versions, " "), func(t *testing.T) {
			clusters := memcluster.New(memcluster.Options{}, "east", "west")
			for _, name := range []api.ClusterName{"east", "west"} {
				if err := clusters.Cluster(name).InstallLinkerd(testbed.Linkerd{LinkVersions: versions}); err != nil {
					t.Fatal(err)
				}
			}
			if err := clusters.Cluster("west").Put("linkerd", map[string]any{
				"apiVersion": "multicluster.linkerd.io/v1alpha1", "kind": "Link",
				"metadata": map[string]any{"name": "east", "namespace": api.DefaultMulticlusterNamespace},
				"spec":     map[string]any{"targetClusterName": "east", "clusterCredentialsSecret": "cluster-credentials-east"},
			}); err != nil {
				t.Fatal(err)
			}
			text := importedFrom(t, serve(t, clusters, "east", "west"), "east", "west")
			if !strings.Contains(text, "kind: Link\n") || !strings.Contains(text, "target: east\n") {
				t.Errorf("no link from west to east:\n%s", text)
			}
		})
	}
}

// serve serves clusters until the test ends, and gives a kubeconfig with a context for each.
func serve(t *testing.T, clusters *memcluster.Clusters, names ...api.ClusterName) (kubeconfig string) {
	t.Helper()
	config := clientcmdapi.NewConfig()
	for _, name := range names {
		server := httptest.NewTLSServer(clusters.Cluster(name).Handler())
		t.Cleanup(server.Close)
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
		config.Clusters[string(name)] = &clientcmdapi.Cluster{Server: server.URL, CertificateAuthorityData: ca}
		config.AuthInfos[string(name)] = &clientcmdapi.AuthInfo{Token: "x"}
		config.Contexts[string(name)] = &clientcmdapi.Context{Cluster: string(name), AuthInfo: string(name)}
	}
	kubeconfig = filepath.Join(t.TempDir(), "config")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// importedFrom is what import prints of the clusters of these contexts.
func importedFrom(t *testing.T, kubeconfig string, contexts ...string) string {
	t.Helper()
	args := []string{"--kubeconfig", kubeconfig}
	for _, name := range contexts {
		args = append(args, "--context", name)
	}
	var out, messages bytes.Buffer
	c := importCommand()
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&messages)
	if err := c.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("import: %v\n%s", err, messages.String())
	}
	return out.String()
}
