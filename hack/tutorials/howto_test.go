package tutorials

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// fleet is what the reader of a how-to page has: declarations in a repository, and beside it a kubeconfig of the management cluster.
const fleet = `apiVersion: linkwright.dev/v1alpha1
kind: Cluster
metadata: {name: west}
spec: {access: {kubeconfigSecret: {name: west}}, apiServer: "WEST"}
---
apiVersion: linkwright.dev/v1alpha1
kind: Cluster
metadata: {name: east}
spec: {access: {kubeconfigSecret: {name: east}}, apiServer: "EAST"}
---
apiVersion: linkwright.dev/v1alpha1
kind: Link
metadata: {name: west-east}
spec: {source: west, target: east, remoteDiscoverySelector: {matchLabels: {mirror.linkerd.io/exported: remote-discovery}}}
`

// TestAccess runs the commands of the page in its order. After each block linkwright reaches both clusters, and at the end nothing of its
// access to east is left.
func TestAccess(t *testing.T) {
	r := newReader(t)
	text := strings.NewReplacer("WEST", r.bed.Cluster("west").Config.Host, "EAST", r.bed.Cluster("east").Config.Host).Replace(fleet)
	dir := filepath.Join(r.dir, "fleet")
	r.must(os.Mkdir(dir, 0o755))
	r.must(os.WriteFile(filepath.Join(dir, "fleet.yaml"), []byte(text), 0o600))
	r.must(os.Symlink(r.beside("kubeconfig"), filepath.Join(r.dir, "west.yaml")))
	r.do("cd fleet && git init -q -b main && git add . && git commit -qm declare")

	steps := r.steps("how-to", "access.md")
	const sync = " --repo $PWD --allow-file-repo --kubeconfig ../west.yaml --log-level error"
	for i, s := range steps {
		if i == len(steps)-1 {
			r.do("linkwright uninstall --yes" + sync)
		}
		r.step(s)
		if i < len(steps)-1 {
			r.do("linkwright sync" + sync)
		}
	}
	east := kubernetes.NewForConfigOrDie(r.bed.Cluster("east").Config)
	roles, err := east.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
	r.must(err)
	policies, err := east.AdmissionregistrationV1().ValidatingAdmissionPolicies().List(t.Context(), metav1.ListOptions{})
	r.must(err)
	spaces, err := east.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	r.must(err)
	bindings, err := east.RbacV1().RoleBindings("").List(t.Context(), metav1.ListOptions{})
	r.must(err)
	var left []string
	for _, o := range roles.Items {
		left = append(left, o.Name)
	}
	for _, o := range policies.Items {
		left = append(left, o.Name)
	}
	for _, o := range spaces.Items {
		left = append(left, o.Name)
	}
	for _, o := range bindings.Items {
		left = append(left, o.Name)
	}
	for _, name := range left {
		if strings.HasPrefix(name, "linkwright") {
			t.Errorf("%s is left in east", name)
		}
	}
}

// do runs commands of the test itself, which must succeed.
func (r *reader) do(commands string) {
	r.Helper()
	r.step(Step{Commands: commands + "\n"})
}
