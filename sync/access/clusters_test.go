package access

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	gosync "sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/cluster"
)

// byFiles returns clusters that are reached by kubeconfigs of a directory, one each. No server is asked.
func byFiles(t *testing.T, n int) (*Clusters, []fleet.Cluster) {
	t.Helper()
	c := newClusters(Options{Owner: "linkwright", Namespace: "linkwright", AllowPaths: true, Log: slog.New(slog.DiscardHandler)})
	c.registry = cluster.New(cluster.Options{})
	var err error
	if c.management, err = OpenManagementCluster(t.Context(), &rest.Config{Host: "https://192.0.2.1"}, cluster.Options{Namespace: "linkwright"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(t.Context()) })
	want := make([]fleet.Cluster, n)
	for i := range want {
		name := fmt.Sprintf("c%d", i)
		path := filepath.Join(t.TempDir(), name)
		leadsTo(t, path, name)
		want[i] = fleet.Cluster{Name: api.ClusterName(name), Spec: api.Cluster{Access: api.Access{Kubeconfig: &api.KubeconfigFile{Path: path}}}}
	}
	return c, want
}

func leadsTo(t *testing.T, path, host string) {
	t.Helper()
	write(t, path, kubeconfig("https://"+host+".example.com", "token: x"))
}

func (c *Clusters) addressOf(t *testing.T, name api.ClusterName) (at string) {
	t.Helper()
	if err := c.WithCluster(t.Context(), name, func(object.Cluster) error {
		at = c.Server(name)
		return nil
	}); err != nil {
		t.Error(err)
	}
	return at
}

// TestFollow: a connection follows what its access leads to, a wrong access has none and says why, and so has a cluster
// that is not declared any more.
func TestFollow(t *testing.T) {
	c, want := byFiles(t, 2)
	path := want[0].Spec.Access.Kubeconfig.Path
	if failed := c.Follow(t.Context(), want); len(failed) > 0 {
		t.Fatal(failed)
	}
	leadsTo(t, path, "elsewhere")
	if failed := c.Follow(t.Context(), want); len(failed) > 0 || c.addressOf(t, "c0") != "https://elsewhere.example.com" {
		t.Errorf("a changed access: %v, %s", failed, c.addressOf(t, "c0"))
	}
	write(t, path, "{")
	for range 2 {
		failed := c.Follow(t.Context(), want)
		if err := failed["c0"]; len(failed) != 1 || err == nil || !strings.Contains(err.Error(), "this is not a kubeconfig") {
			t.Errorf("a wrong access: %v", failed)
		}
	}
	if err := c.WithCluster(t.Context(), "c0", nil); err == nil || len(c.registry.Names()) != 1 {
		t.Errorf("a wrong access: %v, open are %v", err, c.registry.Names())
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := c.Follow(t.Context(), want)["c0"]; err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("an access that is gone: %v", err)
	}
	leadsTo(t, path, "back")
	if failed := c.Follow(t.Context(), want); len(failed) > 0 || c.addressOf(t, "c0") != "https://back.example.com" {
		t.Errorf("a mended access: %v", failed)
	}
	c.Follow(t.Context(), want[1:])
	if err := c.WithCluster(t.Context(), "c0", nil); err == nil || len(c.registry.Names()) != 1 {
		t.Errorf("a cluster that left: %v, open are %v", err, c.registry.Names())
	}
}

// TestMissingAccessSecret: what is said of an access Secret that is missing, or must not be read, has the command for that cluster.
func TestMissingAccessSecret(t *testing.T) {
	for status, want := range map[int]string{
		http.StatusNotFound: "access.kubeconfigSecret: Secret links/of-east is missing in the management cluster: correct the name, or run linkwright cluster add east PATH --context CONTEXT --owner blue --namespace links, " +
			"or create it with a kubeconfig under the key own",
		http.StatusForbidden: "grant it with your own login: linkwright cluster add east PATH --context CONTEXT --owner blue --namespace links",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.URL.Path == "/api/v1" {
				_, _ = io.WriteString(w, `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [{"name": "secrets", "kind": "Secret", "namespaced": true, "verbs": ["get", "list"]}]}`)
				return
			}
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "%s", "details": {"name": "of-east", "kind": "secrets"}, "code": %d}`, strings.ReplaceAll(http.StatusText(status), " ", ""), status)
		}))
		defer server.Close()
		c := newClusters(Options{Owner: "blue", Namespace: "links", Log: slog.New(slog.DiscardHandler)})
		c.registry = cluster.New(cluster.Options{})
		var err error
		if c.management, err = OpenManagementCluster(t.Context(), &rest.Config{Host: server.URL}, cluster.Options{Namespace: "links"}); err != nil {
			t.Fatal(err)
		}
		defer c.Close(t.Context())
		east := fleet.Cluster{Name: "east", Spec: api.Cluster{Access: api.Access{KubeconfigSecret: &api.SecretKey{Name: "of-east", Key: "own"}}}}
		if err := c.Follow(t.Context(), []fleet.Cluster{east})["east"]; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("status %d: %v, want %s", status, err, want)
		}
	}
}

// TestFollowBesideTurns: turns that outlive a sync use clusters while the next one finds out where they are.
func TestFollowBesideTurns(t *testing.T) {
	c, want := byFiles(t, 40)
	c.Follow(t.Context(), want)
	stop := make(chan struct{})
	var turns gosync.WaitGroup
	for _, w := range want[:8] {
		turns.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				_ = c.WithCluster(t.Context(), w.Name, func(object.Cluster) error { return nil })
			}
		})
	}
	for i := range 20 {
		leadsTo(t, want[0].Spec.Access.Kubeconfig.Path, fmt.Sprint("n", i))
		c.Follow(t.Context(), want[i%3:])
	}
	close(stop)
	turns.Wait()
	if got := c.addressOf(t, "c5"); got != "https://c5.example.com" {
		t.Errorf("c5 is at %s", got)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func kubeconfig(server, user string) string {
	return `{apiVersion: v1, kind: Config, current-context: c,
clusters: [{name: c, cluster: {server: "` + server + `"}}],
users: [{name: u, user: {` + user + `}}],
contexts: [{name: c, context: {cluster: c, user: u}}]}`
}

// TestInClusterElsewhere: outside of any cluster, access.inCluster leads to the management cluster, in which linkwright runs.
func TestInClusterElsewhere(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	a := accesses{managementConfig: &rest.Config{Host: "https://management:6443"}}
	to := a.find(t.Context(), fleet.Cluster{Name: "west", Spec: api.Cluster{Access: api.Access{InCluster: true}}}, target{})
	if to.err != nil || to.cfg == nil || to.cfg.Host != "https://management:6443" {
		t.Errorf("find() = %+v, want the management cluster", to)
	}
}
