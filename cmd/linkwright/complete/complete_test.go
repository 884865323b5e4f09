package complete

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/report"
)

// program is a command line with commands like the real ones.
func program() *cobra.Command {
	root := &cobra.Command{Use: "linkwright"}
	for _, use := range []string{"suspend NAME...", "resume NAME...", "reconcile [CLUSTER...]", "rotate [LINK...]", "approve HASH", "explain FIELD", "render [PATH]", "schema [KIND]"} {
		var h cli.ManagementFlags
		var out cli.Format
		c := &cobra.Command{Use: use, Run: func(*cobra.Command, []string) {}}
		h.AddManagement(c.Flags())
		out.Add(c.Flags(), report.Formats())
		c.Flags().String("repo", "", "")
		c.Flags().Bool("answer", false, "")
		c.Flags().StringArray("cluster", nil, "")
		root.AddCommand(c)
	}
	Register(root)
	return root
}

// asked is what a shell gets.
func asked(t *testing.T, words ...string) string {
	t.Helper()
	var out bytes.Buffer
	root := program()
	root.SetArgs(append([]string{cobra.ShellCompRequestCmd}, words...))
	root.SetOut(&out)
	root.SetErr(&bytes.Buffer{})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestDeclaredNames(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	declarations := ""
	for _, name := range []string{"east", "west"} {
		declarations += "apiVersion: linkwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: " + name + "}\nspec: {access: {kubeconfigSecret: {name: x" + name + "}}}\n---\n"
	}
	declarations += "apiVersion: linkwright.dev/v1alpha1\nkind: Link\nmetadata: {name: one}\nspec: {source: west, target: east}\n"
	file := filepath.Join(dir, "fleet.yaml")
	if err := os.WriteFile(file, []byte(declarations), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		words []string
		want  string
	}{
		{[]string{"rotate", "--repo", dir, ""}, "west/east\n:4\n"},
		{[]string{"rotate", "--repo", dir, "west/east", ""}, ":4\n"},
		{[]string{"suspend", "--repo", dir, "w"}, "west\nwest/east\n:4\n"},
		{[]string{"render", dir, "--cluster", "e"}, "east\n:4\n"},
		{[]string{"render", file, "--cluster", ""}, "east\nwest\n:4\n"},
		{[]string{"render", filepath.Join(dir, "nowhere"), "--kubeconfig", "none", "--cluster", ""}, ":4\n"},
		{[]string{"render", "-o", "m"}, "markdown\n:4\n"},
		{[]string{"explain", "clu"}, "cluster\n:4\n"},
		{[]string{"explain", "cluster"}, "cluster\ncluster.\n:6\n"},
		{[]string{"explain", "link.spec.con"}, "link.spec.controller\nlink.spec.controller.\n:6\n"},
		{[]string{"schema", "sync"}, "syncpolicy\n:4\n"},
		{[]string{"schema", "--answer", "Dec"}, "DecisionList\nDeclarationList\n:4\n"},
		{[]string{"explain", "GatewayNot"}, "GatewayNotAlive\n"},
		{[]string{"explain", "link.nowhere.x"}, ":4\n"},
	} {
		if got := asked(t, tt.words...); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.words, got, tt.want)
		}
	}
}

// recorder is a management cluster that has a record, as far as completion asks; slow: it takes longer than anybody waits.
func recorder(t *testing.T, slow bool) (kubeconfig string) {
	t.Helper()
	r := inventory.Record{
		Clusters:  map[api.ClusterName]inventory.KnownCluster{"east": {UID: "e"}, "west": {UID: "w"}},
		Decisions: []inventory.Decision{{Kind: inventory.Suspend, Source: "west", Target: "east", By: "ann", At: time.Now()}},
		Denied:    &inventory.Denial{Hash: "3f9c0e51b7a2", Units: []inventory.Unit{{Kind: inventory.UnitCluster, Cluster: "north"}}},
	}
	o, err := r.Object(object.DefaultOwner, "linkwright")
	if err != nil {
		t.Fatal(err)
	}
	var config corev1.ConfigMap
	if err := json.Unmarshal(o.Body.Bytes(), &config); err != nil {
		t.Fatal(err)
	}
	config.UID, config.ResourceVersion, config.TypeMeta = "u", "1", metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	config.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: object.Manager(object.DefaultOwner), Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:fleet.json":{}},"f:metadata":{"f:labels":{"f:linkwright.dev/owner":{}}}}`),
	}}
	end := make(chan struct{})
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if slow {
			<-end
			return
		}
		w.Header().Set("Content-Type", "application/json")
		var answer any = metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound}
		switch q.URL.Path {
		case "/api/v1":
			answer = metav1.APIResourceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: "v1", APIResources: []metav1.APIResource{
				{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: metav1.Verbs{"get", "list", "watch", "patch"}},
			}}
		case "/api/v1/namespaces/linkwright/configmaps/linkwright-fleet":
			answer = config
		default:
			w.WriteHeader(http.StatusNotFound)
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(end) })
	kubeconfig = filepath.Join(t.TempDir(), "config.yaml")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: one, clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}],
contexts: [{name: one, context: {cluster: c, user: u}}, {name: two, context: {cluster: c, user: u}}], users: [{name: u, user: {token: x}}]}`, s.URL,
		base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

func TestRecordedNames(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	kubeconfig := recorder(t, false)
	for _, tt := range []struct {
		words []string
		want  string
	}{
		{[]string{"reconcile", ""}, "east\nwest\n:4\n"},
		{[]string{"reconcile", "east", ""}, "west\n:4\n"},
		{[]string{"reconcile", "--owner", "blue", ""}, ":4\n"},
		{[]string{"rotate", ""}, "east/\nwest/\n:6\n"},
		{[]string{"rotate", "west/"}, "west/east\n:4\n"},
		{[]string{"resume", ""}, "west/east\n:4\n"},
		{[]string{"approve", ""}, "3f9c0e51b7a2\n:4\n"},
		{[]string{"reconcile", "--context", "t"}, "two\n:4\n"},
	} {
		words := append([]string{tt.words[0], "--kubeconfig", kubeconfig}, tt.words[1:]...)
		if got := asked(t, words...); got != tt.want {
			t.Errorf("%q: %q, want %q", words, got, tt.want)
		}
	}
	t.Setenv("LINKWRIGHT_KUBECONFIG", kubeconfig)
	if got := asked(t, "reconcile", "e"); got != "east\n:4\n" {
		t.Errorf("by a variable: %q", got)
	}
}

// Nobody who pressed the tabulator waits longer, or reads an error.
func TestSlowCluster(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	kubeconfig := recorder(t, true)
	began := time.Now()
	if got := asked(t, "reconcile", "--kubeconfig", kubeconfig, ""); got != ":4\n" || time.Since(began) > patience+2*time.Second {
		t.Errorf("%q after %s", got, time.Since(began))
	}
}
