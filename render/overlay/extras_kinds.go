package overlay

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Kinds are the kinds of objects that an overlay may add. The zero value allows none.
type Kinds struct{ words []groupKind }

// groupKind is one kind, or all kinds of a group if kind is empty.
type groupKind struct{ kind, group string }

// String is the word that ParseKinds reads: Kind, Kind.group or group.
func (g groupKind) String() string {
	switch {
	case g.kind == "":
		return g.group
	case slices.Contains(knownKinds(), g) || g.group == "":
		return g.kind
	}
	return g.kind + "." + g.group
}

// knownKinds are kinds that may be named without their group.
func knownKinds() []groupKind {
	return []groupKind{
		{"ConfigMap", ""},
		{"HorizontalPodAutoscaler", "autoscaling"},
		{"LimitRange", ""},
		{"NetworkPolicy", "networking.k8s.io"},
		{"PodDisruptionBudget", "policy"},
		{"PodMonitor", "monitoring.coreos.com"},
		{"PrometheusRule", "monitoring.coreos.com"},
		{"ResourceQuota", ""},
		{"ServiceMonitor", "monitoring.coreos.com"},
	}
}

// DefaultKinds are the kinds that give a committer no more rights than declaring links does.
func DefaultKinds() Kinds {
	return Kinds{[]groupKind{
		{"NetworkPolicy", "networking.k8s.io"},
		{"PodDisruptionBudget", "policy"},
		{"PodMonitor", "monitoring.coreos.com"},
		{"ServiceMonitor", "monitoring.coreos.com"},
		{"", "policy.linkerd.io"},
	}}
}

// forbiddenKind is a kind that no flag allows. An empty kind stands for all of the group; "*." before a group for all groups below it.
type forbiddenKind struct {
	groupKind
	why string
}

const (
	grants   = "it grants rights"
	hooks    = "it changes what the whole cluster accepts"
	programs = "it runs any program that the committer chooses"
	secrets  = "it holds or moves secrets"
	ours     = "linkwright or Linkerd writes it"
	engines  = "it lets another tool apply what the committer names"
)

// forbiddenKinds is the table.
func forbiddenKinds() []forbiddenKind {
	return []forbiddenKind{
		{groupKind{"", "rbac.authorization.k8s.io"}, grants},
		{groupKind{"", "authorization.k8s.io"}, grants},
		{groupKind{"", "authorization.openshift.io"}, grants},
		{groupKind{"", "authentication.k8s.io"}, grants},
		{groupKind{"", "certificates.k8s.io"}, grants},
		{groupKind{"", "admissionregistration.k8s.io"}, hooks},
		{groupKind{"", "apiextensions.k8s.io"}, hooks},
		{groupKind{"", "apiregistration.k8s.io"}, hooks},
		{groupKind{"", "kyverno.io"}, hooks},
		{groupKind{"", "*.gatekeeper.sh"}, hooks},
		{groupKind{"Namespace", ""}, hooks},
		{groupKind{"Node", ""}, hooks},
		{groupKind{"PersistentVolume", ""}, hooks},
		{groupKind{"", "apps"}, programs},
		{groupKind{"", "batch"}, programs},
		{groupKind{"", "extensions"}, programs},
		{groupKind{"Pod", ""}, programs},
		{groupKind{"PodTemplate", ""}, programs},
		{groupKind{"ReplicationController", ""}, programs},
		{groupKind{"Binding", ""}, programs},
		{groupKind{"Alertmanager", "monitoring.coreos.com"}, programs},
		{groupKind{"Prometheus", "monitoring.coreos.com"}, programs},
		{groupKind{"PrometheusAgent", "monitoring.coreos.com"}, programs},
		{groupKind{"ThanosRuler", "monitoring.coreos.com"}, programs},
		{groupKind{"", "apps.openshift.io"}, programs},
		{groupKind{"", "serving.knative.dev"}, programs},
		{groupKind{"", "tekton.dev"}, programs},
		{groupKind{"", "keda.sh"}, programs},
		{groupKind{"", "kubevirt.io"}, programs},
		{groupKind{"", "jobset.x-k8s.io"}, programs},
		{groupKind{"", "argoproj.io"}, engines},
		{groupKind{"", "*.toolkit.fluxcd.io"}, engines},
		{groupKind{"", "helm.cattle.io"}, engines},
		{groupKind{"", "kustomize.config.k8s.io"}, engines},
		{groupKind{"Secret", ""}, secrets},
		{groupKind{"ServiceAccount", ""}, secrets},
		{groupKind{"", "bitnami.com"}, secrets},
		{groupKind{"", "cert-manager.io"}, secrets},
		{groupKind{"", "external-secrets.io"}, secrets},
		{groupKind{"", "generators.external-secrets.io"}, secrets},
		{groupKind{"", "secrets-store.csi.x-k8s.io"}, secrets},
		{groupKind{"", "secrets.hashicorp.com"}, secrets},
		{groupKind{"", "trust.cert-manager.io"}, secrets},
		{groupKind{"AlertmanagerConfig", "monitoring.coreos.com"}, secrets},
		{groupKind{"", "linkwright.dev"}, ours},
		{groupKind{"", "multicluster.linkerd.io"}, ours},
		{groupKind{"", "coordination.k8s.io"}, ours},
		{groupKind{"", "discovery.k8s.io"}, ours},
		{groupKind{"Endpoints", ""}, ours},
		{groupKind{"Event", ""}, ours},
		{groupKind{"Service", ""}, ours},
	}
}

// forbiddenByName are well-known kinds of groups that are forbidden as a whole, so that their bare name gets the right
// message.
func forbiddenByName() []groupKind {
	return []groupKind{
		{"ClusterRole", "rbac.authorization.k8s.io"},
		{"ClusterRoleBinding", "rbac.authorization.k8s.io"},
		{"Role", "rbac.authorization.k8s.io"},
		{"RoleBinding", "rbac.authorization.k8s.io"},
		{"MutatingWebhookConfiguration", "admissionregistration.k8s.io"},
		{"ValidatingWebhookConfiguration", "admissionregistration.k8s.io"},
		{"ValidatingAdmissionPolicy", "admissionregistration.k8s.io"},
		{"CustomResourceDefinition", "apiextensions.k8s.io"},
		{"APIService", "apiregistration.k8s.io"},
		{"DaemonSet", "apps"},
		{"Deployment", "apps"},
		{"ReplicaSet", "apps"},
		{"StatefulSet", "apps"},
		{"CronJob", "batch"},
		{"Job", "batch"},
		{"ExternalSecret", "external-secrets.io"},
		{"Certificate", "cert-manager.io"},
		{"Link", "multicluster.linkerd.io"},
	}
}

// forbidden returns why a kind is never allowed; empty: it may be.
func (g groupKind) forbidden() string {
	for _, n := range forbiddenKinds() {
		below, wild := strings.CutPrefix(n.group, "*")
		if (n.group == g.group || wild && strings.HasSuffix(g.group, below)) && (n.kind == "" || n.kind == g.kind) {
			return n.why
		}
	}
	return ""
}

// ParseKinds parses the words of --overlay-kinds: a well-known Kind, Kind.group, or a group that is harmless as a whole
// (policy.linkerd.io). No words allow no kinds.
func ParseKinds(words []string) (Kinds, error) {
	var k Kinds
	for _, word := range words {
		g, err := parseKind(word)
		if err != nil {
			return Kinds{}, fmt.Errorf("read kind %q: %w", word, err)
		}
		if !slices.Contains(k.words, g) {
			k.words = append(k.words, g)
		}
	}
	return k, nil
}

func parseKind(word string) (groupKind, error) {
	g, err := splitKind(word)
	if err != nil {
		return g, err
	}
	if why := g.forbidden(); why != "" {
		return g, fmt.Errorf("an overlay must not add it: %s", why)
	}
	if g.kind == "" && g.group != "policy.linkerd.io" {
		return g, fmt.Errorf("only policy.linkerd.io is allowed as a whole group: name kinds, such as Kind.%s", g.group)
	}
	return g, nil
}

func splitKind(word string) (groupKind, error) {
	if word == "" {
		return groupKind{}, fmt.Errorf("it is empty: remove it")
	}
	if word[0] < 'A' || word[0] > 'Z' {
		if faults := validation.IsDNS1123Subdomain(word); len(faults) > 0 || !strings.Contains(word, ".") {
			return groupKind{}, fmt.Errorf("it is neither a Kind, nor Kind.group, nor a group such as policy.linkerd.io")
		}
		return groupKind{group: word}, nil
	}
	kind, group, dotted := strings.Cut(word, ".")
	if dotted {
		if faults := validation.IsDNS1123Subdomain(group); len(faults) > 0 {
			return groupKind{}, fmt.Errorf("its group is not a valid name: %s", faults[0])
		}
		return groupKind{kind, group}, nil
	}
	return bareKind(kind)
}

// bareKind finds the group of a Kind without one.
func bareKind(kind string) (groupKind, error) {
	for _, k := range knownKinds() {
		if k.kind == kind {
			return k, nil
		}
	}
	for _, k := range forbiddenByName() {
		if k.kind == kind {
			return k, nil
		}
	}
	for _, n := range forbiddenKinds() {
		if n.kind == kind {
			return n.groupKind, nil
		}
	}
	return groupKind{}, fmt.Errorf("linkwright does not know this kind: write it with its group, such as %s.example.com", kind)
}

// Words are the words from which ParseKinds makes the same value.
func (k Kinds) Words() []string {
	out := make([]string, len(k.words))
	for i, w := range k.words {
		out[i] = w.String()
	}
	return out
}

// String lists the words.
func (k Kinds) String() string {
	if len(k.words) == 0 {
		return "none"
	}
	return strings.Join(k.Words(), ", ")
}

// Allows reports whether an overlay may add objects of a kind.
func (k Kinds) Allows(group, kind string) bool { return k.allow(groupKind{kind, group}) }

// allow reports whether an overlay may add objects of the kind.
func (k Kinds) allow(g groupKind) bool {
	return g.forbidden() == "" && (slices.Contains(k.words, g) || slices.Contains(k.words, groupKind{group: g.group}))
}

// checkMonitor denies what makes a scraper send a credential to an address that the committer chooses.
func checkMonitor(e extra, _ map[string]any) []string {
	list := map[string]string{"PodMonitor": "podMetricsEndpoints", "ServiceMonitor": "endpoints"}[e.id.key.Kind]
	if list == "" || e.id.key.Group != "monitoring.coreos.com" {
		return nil
	}
	spec, _ := e.content["spec"].(map[string]any)
	var out []string
	if spec["scrapeClass"] != nil {
		out = append(out, "spec.scrapeClass must not be set: it can add a credential of the scraper")
	}
	endpoints, _ := spec[list].([]any)
	for i, endpoint := range endpoints {
		at := fmt.Sprintf("spec.%s[%d]", list, i)
		if why := disallowedKey(endpoint, endpointFields()...); why != "" {
			out = append(out, at+": "+why)
		}
		m, _ := endpoint.(map[string]any)
		if why := disallowedKey(m["tlsConfig"], "serverName", "insecureSkipVerify", "minVersion", "maxVersion"); why != "" {
			out = append(out, at+".tlsConfig: "+why)
		}
		out = append(out, checkRelabelings(at+".relabelings", m["relabelings"])...)
		out = append(out, checkRelabelings(at+".metricRelabelings", m["metricRelabelings"])...)
	}
	return out
}

// checkRelabelings denies writing labels that begin with __, which decide what is scraped and how (Prometheus, scrape/target.go),
// and labels whose name is not known here.
func checkRelabelings(at string, v any) []string {
	rules, _ := v.([]any)
	var out []string
	for i, rule := range rules {
		m, _ := rule.(map[string]any)
		target, _ := m["targetLabel"].(string)
		action, _ := m["action"].(string)
		switch {
		case strings.HasPrefix(target, "__"), strings.Contains(target, "$"):
			out = append(out, fmt.Sprintf("%s[%d].targetLabel: %s is not allowed: use a label name that does not begin with __, because others can redirect the scraper", at, i, quote(target)))
		case strings.EqualFold(action, "labelmap"):
			out = append(out, fmt.Sprintf("%s[%d].action: %s is not allowed, because it can write any label: name the labels one by one", at, i, action))
		}
	}
	return out
}

// endpointFields are those of a monitor's endpoint that hold neither a credential nor a proxy.
func endpointFields() []string {
	return []string{
		"port", "portNumber", "targetPort", "path", "scheme", "params", "interval", "scrapeTimeout", "honorLabels",
		"honorTimestamps", "trackTimestampsStaleness", "metricRelabelings", "relabelings", "followRedirects",
		"enableHttp2", "filterRunning", "tlsConfig",
	}
}
