package pages

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// endOfAccess begins the block of commands that end linkwright's access to east.
const endOfAccess = "kubectl --context east delete clusterrole,clusterrolebinding --ignore-not-found linkwright linkwright-mirrors"

// access: after each block linkwright reaches both clusters, and at the end nothing of its access is left in east.
func access() howTo {
	synced := func(r *reader) { r.do("linkwright sync --repo URL") }
	add := "linkwright cluster add east . --context east --management-kubeconfig ../west.yaml"
	return howTo{file: "docs/how-to/access.md", given: (*reader).discovering, acts: []act{
		{at: "linkwright cluster add --all . --management-kubeconfig ../west.yaml", after: synced},
		{at: add, after: synced},
		{at: "kubectl --context west apply --server-side -k deploy/management", run: inCheckout},
		{at: "linkwright rbac . --cluster west | kubectl --context west apply --server-side --filename -", after: synced},
		{at: "kubectl --context west --namespace linkwright delete secret east", after: synced},
		{at: "kubectl --context east --namespace linkwright delete serviceaccount linkwright", after: synced},
		{at: "linkwright uninstall", words: map[string]string{"uninstall": "uninstall --yes --repo URL"}},
		{at: endOfAccess, after: func(r *reader) {
			r.left("east")
		}},
	}}
}

// left: nothing of linkwright's access is left in a cluster.
func (r *reader) left(cluster string) {
	r.Helper()
	client := kubernetes.NewForConfigOrDie(r.bed.Cluster(cluster).Config)
	ctx, all := r.Context(), metav1.ListOptions{}
	roles, err := client.RbacV1().ClusterRoles().List(ctx, all)
	r.must(err)
	policies, err := client.AdmissionregistrationV1().ValidatingAdmissionPolicies().List(ctx, all)
	r.must(err)
	spaces, err := client.CoreV1().Namespaces().List(ctx, all)
	r.must(err)
	bindings, err := client.RbacV1().RoleBindings("").List(ctx, all)
	r.must(err)
	var names []string
	for _, o := range roles.Items {
		names = append(names, o.Name)
	}
	for _, o := range policies.Items {
		names = append(names, o.Name)
	}
	for _, o := range spaces.Items {
		if o.DeletionTimestamp == nil {
			names = append(names, o.Name)
		}
	}
	for _, o := range bindings.Items {
		if !strings.HasPrefix(o.Namespace, "linkwright") { // they go with it
			names = append(names, o.Name)
		}
	}
	for _, name := range names {
		if strings.HasPrefix(name, "linkwright") {
			r.Errorf("%s is left in %s", name, cluster)
		}
	}
}
