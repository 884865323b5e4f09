package deploy_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// right is what an attacker with linkwright's account gets by some verbs on a resource, and what stops that. If nothing does, stops is empty, and
// why says why linkwright needs it all the same.
type right struct {
	namespace, resource, verbs string // as grants have them; namespace "" is the whole cluster
	gets                       string
	stops                      string // by the admission policies, or by RBAC itself
	why                        string
}

const (
	reads           = "get list watch"
	readsKind       = "list watch"
	byPolicies      = "policies: "
	accessSpace     = "linkwright-access"
	meshSpace       = "linkerd-multicluster"
	planeSpace      = "linkerd"
	managementSpace = "linkwright"
)

// rightsThatMatter returns every right that deploy/ grants, in the order of the page.
func rightsThatMatter() []right {
	return []right{
		{"", "namespaces", reads, "the labels of four namespaces", "RBAC: four names", "which cluster it is, and whether Linkerd is there"},
		{"", "validatingadmissionpolicies.admissionregistration.k8s.io", readsKind, "what confines the account", "nothing there is secret", "to see if they are missing or changed"},
		{"", "validatingadmissionpolicybindings.admissionregistration.k8s.io", readsKind, "the same", "the same", "the same"},
		{"", "clusterroles.rbac.authorization.k8s.io", reads, "the rules of two of Linkerd's roles", "RBAC: two names", "whether Linkerd's extension is there"},
		{"", "clusterroles.rbac.authorization.k8s.io", "bind", "the roles of a mirror and of remote access, for accounts of the attacker's own", byPolicies + "bindings by the names of links, to accounts of links", "a link's account reads its target"},
		{"", "clusterrolebindings.rbac.authorization.k8s.io", reads, "who may do what", "", "to see who made an object of that name before linkwright writes it"},
		{"", "clusterrolebindings.rbac.authorization.k8s.io", "create patch delete", "any binding deleted; Linkerd's two roles bound to others", byPolicies + "names, roles and subjects of links", "the same, written"},
		{"", "services", reads, "the names and addresses of all Services", "", "mirrors are in all namespaces"},
		{"", "services", "patch delete", "traffic led elsewhere, any Service deleted", byPolicies + "mirrors: their deletion, and one annotation; probes of links", "to sweep mirrors that no controller takes away"},
		{"", "endpoints", reads, "the addresses of all pods", "", "whether mirrors work"},
		{"", "endpoints", "delete", "Services without addresses", byPolicies + "those of mirrors and of links' probes", "they outlive their Service"},
		{"", "links.multicluster.linkerd.io", readsKind, "which clusters are linked", "", "a target may be linked from another namespace"},
		{"kube-system", "configmaps", reads, "the API server's CA", "RBAC: one name", "it goes into links' kubeconfigs"},

		{accessSpace, "configmaps", readsKind, "what linkwright wrote down", "nothing there is secret", "inventories"},
		{accessSpace, "configmaps", "create patch delete", "linkwright misled about what it made; another CA for the pods there", byPolicies + "inventories only", "inventories"},
		{accessSpace, "secrets", reads, "the tokens by which others read this cluster", "", "it hands them to sources"},
		{accessSpace, "secrets", "create patch delete", "the token of any account there", byPolicies + "tokens of links' accounts only", "tokens of links"},
		{accessSpace, "serviceaccounts", reads, "names", "nothing there is secret", "accounts of links"},
		{accessSpace, "serviceaccounts", "create patch delete", "accounts for a cloud's roles; links without access", byPolicies + "names of links, no annotations of clouds", "accounts of links"},
		{accessSpace, "serviceaccounts/token", "create", "tokens of any account there", byPolicies + "links' accounts, bound to a Secret", "credentials.mode: Bound"},

		{planeSpace, "configmaps", reads, "Linkerd's configuration, its public trust anchors", "RBAC: two names", "facts"},
		{planeSpace, "secrets", reads, "the credentials of links with remote discovery", "RBAC: names; never the issuer's key", "whether they are as declared"},
		{planeSpace, "secrets", "delete", "links without remote discovery", "", "links that end"},
		{planeSpace, "secrets", "create patch", "a kubeconfig that has linkerd-destination send its own token elsewhere, and so the issuer's key", byPolicies + "type and names of links; an address, a CA and a token", "credentials of links"},
		{planeSpace, "deployments.apps", reads, "how linkerd-destination runs", "RBAC: one name", "whether it has read a credential"},
		{planeSpace, "deployments.apps", "patch", "a pod that mounts the issuer's key", byPolicies + "one annotation", "to have it start anew with a credential that changed"},

		{meshSpace, "secrets", reads, "the tokens by which this cluster reads others", "", "it writes them"},
		{meshSpace, "secrets", "create patch delete", "the token of any account there; Secrets of others; a kubeconfig that has a controller send its own token elsewhere", byPolicies + "type and names of links; an address, a CA and a token", "credentials of links"},
		{meshSpace, "serviceaccounts", reads, "names", "nothing there is secret", "accounts of controllers"},
		{meshSpace, "serviceaccounts", "create patch delete", "accounts for a cloud's roles", byPolicies + "names of controllers, no annotations of clouds", "accounts of controllers"},
		{meshSpace, "services", reads, "names and addresses", "", "probes of links"},
		{meshSpace, "services", "create patch delete", "traffic led elsewhere", byPolicies + "probes of links, with ports alone", "probes of links"},
		{meshSpace, "deployments.apps", reads, "how controllers and gateways run", "nothing there is secret", "controllers of links"},
		{meshSpace, "deployments.apps", "create patch delete", "any program, with any account of the namespace", byPolicies + "links' controllers: image, program, account, volumes, privileges", "controllers of links"},
		{meshSpace, "roles.rbac.authorization.k8s.io", reads, "who may do what there", "nothing there is secret", "roles of controllers"},
		{meshSpace, "roles.rbac.authorization.k8s.io", "create patch delete", "linkwright's rights for others", byPolicies + "names and rules of controllers", "roles of controllers"},
		{meshSpace, "rolebindings.rbac.authorization.k8s.io", reads, "who may do what there", "nothing there is secret", "the same"},
		{meshSpace, "rolebindings.rbac.authorization.k8s.io", "create patch delete", "linkwright's rights for others", byPolicies + "a controller's Role to its account", "the same"},
		{meshSpace, "leases.coordination.k8s.io", reads, "which controllers lead", "nothing there is secret", "whether a controller works"},
		{meshSpace, "leases.coordination.k8s.io", "create update patch delete", "controllers that stop", byPolicies + "leases of links' controllers", "a link's controller holds this right, and nobody can grant a right that they lack"},
		{meshSpace, "endpoints", "get", "addresses of pods", "", "whether a probe's are there"},
		{meshSpace, "endpoints", "delete", "Services without addresses", byPolicies + "those of mirrors and of links' probes", "a probe's outlive its Service"},
		{meshSpace, "pods", readsKind, "which controllers run", "nothing there is secret", "to wait for the end of a controller"},
		{meshSpace, "poddisruptionbudgets.policy", reads, "names", "nothing there is secret", "budgets of controllers"},
		{meshSpace, "poddisruptionbudgets.policy", "create patch delete", "drains of nodes held up, or gateways not held", "", "budgets of controllers"},
		{meshSpace, "links.multicluster.linkerd.io", "get", "which clusters are linked", "nothing there is secret", "links"},
		{meshSpace, "links.multicluster.linkerd.io", "create patch delete", "links of the attacker's own, whose mirrors lead to the attacker's gateway", "", "links are what linkwright makes"},
		{meshSpace, "links.multicluster.linkerd.io/status", "update patch", "a link that looks healthy, or not", "", "a link's controller holds this right, and nobody can grant a right that they lack"},
		{meshSpace, "networkpolicies.networking.k8s.io", reads, "who may reach whom there", "nothing there is secret", "overlays; without them this rule can go"},
		{meshSpace, "networkpolicies.networking.k8s.io", "create patch delete", "gateways open to all, or closed", "", "the same"},
		{meshSpace, "podmonitors.monitoring.coreos.com", reads, "what is measured", "nothing there is secret", "the same"},
		{meshSpace, "podmonitors.monitoring.coreos.com", "create patch delete", "Prometheus sent to pods of that namespace", "", "the same"},
		{meshSpace, "servicemonitors.monitoring.coreos.com", reads, "what is measured", "nothing there is secret", "the same"},
		{meshSpace, "servicemonitors.monitoring.coreos.com", "create patch delete", "the same", "", "the same"},
		{meshSpace, "*.policy.linkerd.io", reads, "who may reach gateways", "nothing there is secret", "the same"},
		{meshSpace, "*.policy.linkerd.io", "create patch delete", "gateways open to all, or closed", "", "the same"},

		{managementSpace, "leases.coordination.k8s.io", "get list create update", "linkwright stopped", "", "who may write"},
		{managementSpace, "configmaps", "get create patch delete", "linkwright led to another of its access Secrets", "", "the record of clusters, by its name"},
		{managementSpace, "configmaps", readsKind, "names", "nothing there is secret", "to notice a change"},
		{managementSpace, "events.events.k8s.io", "create patch", "events that say what is not true", "", "transitions"},
		{managementSpace, "serviceaccounts/token", "create", "tokens of linkwright's own account, for as long as the attacker has one", "RBAC: one name", "to renew its access"},
		{managementSpace, "secrets", "patch", "accesses that lead elsewhere, or nowhere", "RBAC: names of accesses", "to renew its access"},
		{managementSpace, "secrets", reads, "the accesses of all clusters", "RBAC: names of accesses, and of flags", "it reads and writes those clusters"},
	}
}

// covers reports whether the row is about a right.
func (m right) covers(g grant) bool {
	return m.namespace == g.namespace && m.resource == g.called() && slices.Contains(strings.Fields(m.verbs), g.verb)
}

func (g grant) called() string {
	if g.group == "" {
		return g.resource
	}
	plural, sub, is := strings.Cut(g.resource, "/")
	if is {
		return plural + "." + g.group + "/" + sub
	}
	return g.resource + "." + g.group
}

// granted returns all rights that the bases give, in a member and in the management cluster.
func granted(t *testing.T) (out []grant) {
	t.Helper()
	for _, dir := range []string{"cluster", "confine", "management", "sweep"} {
		out = append(out, grants(t, build(t, dir, map[string]bool{}))...)
	}
	return append(out, // of linkwright cluster add
		grant{managementSpace, "", "serviceaccounts/token", account, "create"}, grant{managementSpace, "", "secrets", "access", "patch"})
}

// Every verb on every resource that is granted is on the threat page, with what an attacker gets by it. What the policies stop is tried
// (attacks), and what nothing stops says why it is needed.
func TestEveryRight(t *testing.T) {
	used := map[int]bool{}
	for _, g := range granted(t) {
		i := slices.IndexFunc(rightsThatMatter(), func(m right) bool { return m.covers(g) })
		if i < 0 {
			t.Errorf("no row says what an attacker gets by %s", g)
			continue
		}
		used[i] = true
		if m := rightsThatMatter()[i]; strings.HasPrefix(m.stops, byPolicies) && g.verb != "bind" && !tried(g) {
			t.Errorf("%s: no attack tries it", g)
		}
	}
	for i, m := range rightsThatMatter() {
		if !used[i] {
			t.Errorf("%s: %s %s is granted nowhere", cmp.Or(m.namespace, "*"), m.verbs, m.resource)
		}
		if m.gets == "" || m.why == "" {
			t.Errorf("%s: %s %s: what does an attacker get, and why is it needed?", cmp.Or(m.namespace, "*"), m.verbs, m.resource)
		}
	}
}

// tried reports whether an attack uses a right, or another verb that changes the same.
func tried(g grant) bool {
	alike := map[string][]string{"update": {"patch"}, "create": {"create", "apply"}}
	return slices.ContainsFunc(attacks(), func(a attack) bool {
		resource := strings.TrimSuffix(a.resource.Resource+"/"+a.sub, "/")
		return (g.namespace == "" || a.namespace == g.namespace) && a.resource.Group == g.group && resource == g.resource && (a.verb == g.verb || slices.Contains(alike[g.verb], a.verb))
	})
}

// The page says what the table says.
func TestThreatPage(t *testing.T) {
	const page, begin, end = "../docs/explanation/threat-model.md", "<!-- rights -->\n", "<!-- /rights -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, opened := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !opened || !closed {
		t.Fatalf("%s has no place for the table of rights", page)
	}
	var out bytes.Buffer
	out.WriteString("| where | right | an attacker gets | stopped by | needed for | test |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, m := range rightsThatMatter() {
		observed := "deploy.TestEveryRight"
		if strings.HasPrefix(m.stops, byPolicies) {
			observed = "deploy.TestConfined"
		}
		fmt.Fprintf(&out, "| %s | `%s` %s | %s | %s | %s | `%s` |\n", cmp.Or(m.namespace, "the cluster"), m.resource, m.verbs, m.gets, cmp.Or(m.stops, "nothing"), m.why, observed)
	}
	want := before + begin + out.String() + end + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil { //nolint:gosec // a page that everybody reads
			t.Fatal(err)
		}
		return
	}
	if want != string(text) {
		t.Errorf("%s is not up to date (go test ./deploy -run TestThreatPage -update)", page)
	}
}
