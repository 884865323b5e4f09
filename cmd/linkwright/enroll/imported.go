package enroll

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/report"
)

// doc is one declaration in the making, with comments.
type doc struct {
	kind, name string
	spec       map[string]any
	notes      []string
}

func (d *doc) note(format string, a ...any) {
	note := report.Printable(fmt.Sprintf(format, a...))
	if note = strings.ReplaceAll(note, "\n", " "); !slices.Contains(d.notes, note) {
		d.notes = append(d.notes, note)
	}
}

// declarations are those of all that was read.
func declarations(found []imported) results {
	clusters := clusterDocs(found)
	links, seconds, out := []*doc(nil), []*doc(nil), results{}
	for _, source := range found {
		for k := range source.seen.Kind(linkerd.Group, "Link") {
			if k.Namespace != source.spec.Linkerd.MulticlusterNamespace {
				continue
			}
			target, second := source.target(k, found, clusters)
			switch {
			case target == nil:
				out.notes = append(out.notes, report.Printable(fmt.Sprintf("cluster %s has a Link to %s, which is not among the contexts: give its context, too, with --name CONTEXT=%s", source.name, k.Name, k.Name)))
				continue
			case second != nil:
				clusters[api.ClusterName(k.Name)], seconds = second, append(seconds, second)
			}
			links = append(links, source.link(k, *target, clusters[api.ClusterName(k.Name)], clusters[target.name]))
		}
	}
	out.head = fmt.Sprintf("# linkwright import found %s and %s. Check this, commit it, and go on with linkwright diff and adopt.\n", object.Count(len(found), "cluster"), object.Count(len(links), "link"))
	for _, c := range found {
		out.docs = append(out.docs, clusters[c.name])
	}
	out.docs = slices.Concat(out.docs, seconds, links)
	return out
}

// clusterDocs declares what was read, by name. A context that leads to a cluster that was read before is a second name of it.
func clusterDocs(found []imported) map[api.ClusterName]*doc {
	out := map[api.ClusterName]*doc{}
	for i, c := range found {
		out[c.name] = c.cluster()
		if same := slices.IndexFunc(found[:i], func(o imported) bool { return c.facts.UID != "" && o.facts.UID == c.facts.UID }); same >= 0 {
			out[c.name] = secondName(c.name, found[same].name, "both contexts lead to one cluster")
		}
	}
	return out
}

// target is the cluster that a Linkerd Link leads to, by its name, or else by its credential: then the name is a second one, which is
// declared if it is new. Nil: none that was read.
func (c imported) target(k object.Key, found []imported, known map[api.ClusterName]*doc) (target *imported, second *doc) {
	name := api.ClusterName(k.Name)
	at := slices.IndexFunc(found, func(o imported) bool { return o.name == name })
	if at >= 0 {
		return &found[at], nil
	}
	if at = c.targetIndex(k, found); at < 0 {
		return nil, nil
	}
	if known[name] == nil {
		second = secondName(name, found[at].name, "a Link of that name has a credential for the cluster")
	}
	return &found[at], second
}

// secondName declares another name of a cluster.
func secondName(name, of api.ClusterName, why string) *doc {
	d := &doc{kind: "Cluster", name: string(name), spec: map[string]any{"sameAs": string(of)}}
	d.note("a second name of %s: %s", of, why)
	return d
}

// targetIndex is the index of the cluster that the credential of a Linkerd Link leads to, by the address of its API server; -1: none. Clusters may share a CA.
func (c imported) targetIndex(k object.Key, found []imported) int {
	body, _ := c.seen.Body(k)
	var live struct {
		Spec linkerd.LinkSpec `json:"spec"`
	}
	if json.Unmarshal(body.Bytes(), &live) != nil {
		return -1
	}
	to := c.login(live.Spec.ClusterCredentialsSecret)
	if to == nil {
		return -1
	}
	return slices.IndexFunc(found, func(o imported) bool {
		server := strings.TrimSuffix(o.facts.API.Server, "/")
		return o.name != c.name && server != "" && server == strings.TrimSuffix(to.Server, "/")
	})
}

// login is the cluster that the kubeconfig in a Secret of the multicluster namespace leads to, or nil.
func (c imported) login(secret string) *clientcmdapi.Cluster {
	body, ok := c.seen.Body(object.Key{Kind: "Secret", Namespace: c.spec.Linkerd.MulticlusterNamespace, Name: secret})
	var s corev1.Secret
	if !ok || json.Unmarshal(body.Bytes(), &s) != nil {
		return nil
	}
	cfg, err := clientcmd.Load(s.Data[linkerd.KubeconfigKey])
	if err != nil {
		return nil
	}
	if x := cfg.Contexts[cfg.CurrentContext]; x != nil {
		return cfg.Clusters[x.Cluster]
	}
	return nil
}

func (d *doc) write(out *bytes.Buffer) error {
	text, err := yaml.Marshal(d.declaration())
	out.WriteString("---\n")
	for _, n := range d.notes {
		out.WriteString("# " + n + "\n")
	}
	out.Write(text)
	return err
}

func (c imported) cluster() *doc {
	d := &doc{kind: "Cluster", name: string(c.name), spec: map[string]any{}}
	switch k := c.spec.Access.Kubeconfig; {
	case c.spec.Access.InCluster:
		d.spec["access"] = map[string]any{"inCluster": true}
	case k != nil:
		d.spec["access"] = map[string]any{"kubeconfig": map[string]any{"path": k.Path, "context": k.Context}}
	default:
		d.spec["access"] = map[string]any{"kubeconfigSecret": map[string]any{"name": string(c.name)}}
	}
	if c.spec.APIServer != "" {
		d.spec["apiServer"] = c.spec.APIServer
	}
	if c.access != "" {
		d.note("access: %s", c.access)
	}
	d.namespaces(c.spec.Linkerd)
	for _, m := range c.facts.Missing {
		d.note("not read, and needed as %s: %s", m.Role, m.Why.Message)
	}
	return d
}

// namespaces declares those that are not the usual ones.
func (d *doc) namespaces(of api.Linkerd) {
	l := map[string]any{}
	if of.Namespace != api.DefaultNamespace {
		l["namespace"] = of.Namespace
	}
	if of.MulticlusterNamespace != api.DefaultMulticlusterNamespace {
		l["multiclusterNamespace"] = of.MulticlusterNamespace
	}
	if len(l) > 0 {
		d.spec["linkerd"] = l
	}
}

// link declares one, and notes at its target, by the name that it has there, what differs from what would be read there.
func (c imported) link(k object.Key, target imported, at, cluster *doc) *doc {
	d := &doc{kind: "Link", name: string(c.name) + "-" + k.Name, spec: map[string]any{"source": string(c.name), "target": k.Name}}
	body, _ := c.seen.Body(k)
	var live struct {
		Spec linkerd.LinkSpec `json:"spec"`
	}
	if json.Unmarshal(body.Bytes(), &live) != nil {
		d.note("the Link cannot be read: its selectors are those of every new link")
		return d
	}
	s := live.Spec
	target.name = api.ClusterName(k.Name)
	if s.TargetClusterName != k.Name {
		d.note("the Link's targetClusterName is %s and its name %s: linkwright uses one name for both", s.TargetClusterName, k.Name)
	}
	d.selectors(s)
	d.lists(s)
	gateway(at, s, target.facts)
	c.credentials(d, s, target, cluster)
	c.controller(d, k.Name)
	return d
}

func (d *doc) selectors(s linkerd.LinkSpec) {
	exported := &metav1.LabelSelector{MatchLabels: map[string]string{linkerd.ExportedLabel: "true"}}
	switch {
	case empty(s.Selector):
		d.spec["selector"] = map[string]any{}
	case !reflect.DeepEqual(s.Selector, exported):
		d.spec["selector"] = s.Selector
	}
	if !empty(s.RemoteDiscoverySelector) {
		d.spec["remoteDiscoverySelector"] = s.RemoteDiscoverySelector
	}
	if !empty(s.FederatedServiceSelector) {
		d.spec["federatedServiceSelector"] = s.FederatedServiceSelector
	}
}

func empty(s *metav1.LabelSelector) bool {
	return s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0
}

// lists leaves out what linkwright excludes in any case.
func (d *doc) lists(s linkerd.LinkSpec) {
	always := []string{
		"argocd.argoproj.io/*", "helm.toolkit.fluxcd.io/*", "kustomize.toolkit.fluxcd.io/*", "meta.helm.sh/*",
		"kubectl.kubernetes.io/last-applied-configuration",
	}
	for name, list := range map[string][]string{"excludedLabels": s.ExcludedLabels, "excludedAnnotations": s.ExcludedAnnotations} {
		own := slices.DeleteFunc(slices.Clone(list), func(e string) bool { return slices.Contains(always, e) || strings.HasPrefix(e, object.Prefix) })
		if len(own) > 0 {
			d.spec[name] = own
		}
	}
	d.note("excludedLabels, excludedAnnotations: linkwright adds the labels and annotations of GitOps tools and its own; adopt shows that as a separate change")
}

// gateway declares at the target what the Link knows otherwise than it would be read.
func gateway(at *doc, s linkerd.LinkSpec, f linkerd.Facts) {
	g := map[string]any{}
	if old, ok := at.spec["gateway"].(map[string]any); ok {
		g = old
	}
	if s.GatewayAddress == "" {
		if at.spec["sameAs"] != nil {
			at.spec["gateway"] = map[string]any{"enabled": false}
			return
		}
		at.note("a Link to this cluster does not use the gateway: set gateway.enabled: false if no Link does")
		return
	}
	set := func(name string, value any, differs bool) {
		if was, ok := g[name]; ok && !reflect.DeepEqual(was, value) {
			at.note("gateway.%s: links differ: %v, and %v", name, was, value)
			return
		}
		if differs {
			g[name] = value
		}
	}
	addresses := strings.Split(s.GatewayAddress, ",")
	set("addresses", addresses, !slices.Equal(addresses, f.Gateway.Addresses))
	if port, err := strconv.Atoi(s.GatewayPort); err == nil {
		set("port", port, s.GatewayPort != f.Gateway.Port)
	}
	set("identity", s.GatewayIdentity, s.GatewayIdentity != f.Gateway.Identity)
	if p := s.ProbeSpec; p != nil && (p.Path != f.Gateway.Probe.Path || p.Port != f.Gateway.Probe.Port || p.Period != f.Gateway.Probe.Period) {
		probe := map[string]any{}
		if p.Path != "" {
			probe["path"] = p.Path
		}
		if port, err := strconv.Atoi(p.Port); err == nil {
			probe["port"] = port
		}
		if p.Period != "" {
			probe["period"] = p.Period
		}
		set("probe", probe, len(probe) > 0)
	}
	if len(g) > 0 {
		at.spec["gateway"] = g
	}
}

// credentials finds whose Secret a Link uses, and by which address that reaches the target.
func (c imported) credentials(d *doc, s linkerd.LinkSpec, target imported, at *doc) {
	name := s.ClusterCredentialsSecret
	key := object.Key{Kind: "Secret", Namespace: c.spec.Linkerd.MulticlusterNamespace, Name: name}
	if name != linkerd.Credentials(target.name) {
		d.spec["credentials"] = map[string]any{"mode": string(api.Existing), "secretRef": map[string]any{"name": name}}
		d.note("credentials: the Link names Secret %s, which no tool of Linkerd makes: linkwright leaves it to its writer", name)
	} else {
		d.note("credentials: linkwright will make a separate account for %s in %s, instead of the one that all sources share; use mode: Existing if a secret manager writes the Secret", c.name, target.name)
	}
	body, ok := c.seen.Body(key)
	var secret corev1.Secret
	if !ok || json.Unmarshal(body.Bytes(), &secret) != nil {
		d.note("credentials: Secret %s does not exist", name)
		return
	}
	if _, err := clientcmd.Load(secret.Data[linkerd.KubeconfigKey]); err != nil { // not quoted: it could hold the token
		d.note("credentials: Secret %s does not hold a kubeconfig", name)
		return
	}
	if to := c.login(name); to != nil {
		server := strings.TrimSuffix(to.Server, "/")
		was, declared := at.spec["apiServer"]
		switch {
		case declared && was != server:
			at.note("apiServer: links differ: %v, and %s", was, server)
		case server != strings.TrimSuffix(target.facts.API.Server, "/"), target.facts.API.Server == "":
			at.spec["apiServer"] = server
		}
	}
}

// controller finds who runs it, and how.
func (c imported) controller(d *doc, target string) {
	at := func(name string) object.Key {
		return object.Key{Group: "apps", Kind: "Deployment", Namespace: c.spec.Linkerd.MulticlusterNamespace, Name: name}
	}
	body, modern := c.seen.Body(at(linkerd.Controller(api.ClusterName(target))))
	if !modern {
		var legacy bool
		if body, legacy = c.seen.Body(at(linkerd.LegacyController(api.ClusterName(target)))); !legacy {
			d.spec["controller"] = map[string]any{"mode": string(api.External)}
			d.note("controller: none was found in %s; without mode: External linkwright runs one", c.spec.Linkerd.MulticlusterNamespace)
			return
		}
		d.note("controller: the older one of `linkerd multicluster link`; after adopt, the next sync replaces it with the present one")
	} else if r := linkerd.ReleaseOf(body); !r.IsZero() {
		d.note("controller: release %s/%s of Helm runs it now, and linkwright will; to leave it to Helm, set controller: {mode: External}. After adopt, take %s out of `controllers` in its values", r.Namespace, r.Name, target)
	}
	c.kept(d, target)
	var dep appsv1.Deployment
	if json.Unmarshal(body.Bytes(), &dep) != nil || len(dep.Spec.Template.Spec.Containers) == 0 {
		return
	}
	if spec := controllerSpec(dep, c.facts.Version); len(spec) > 0 {
		d.spec["controller"] = spec
	}
	if image, ok := controllerSpec(dep, c.facts.Version)["image"]; ok {
		d.note("controller.image: %v needs --allow-controller-image", image)
	}
}

// kept finds which other tools keep parts of a link: adopt refuses those.
func (c imported) kept(d *doc, target string) {
	noted := map[linkerd.Tool]bool{}
	for _, k := range cli.SortedKeys(c.seen, object.Observation{}) {
		body, _ := c.seen.Body(k)
		tool := linkerd.ToolOf(body, c.seen.Record(k))
		if _, ok := linkerd.Adoptable(c.spec.Linkerd, k, body, api.ClusterName(target)); !ok || tool.IsZero() || noted[tool] {
			continue
		}
		noted[tool] = true
		d.note("%s (%s) manages %s: before adopt, %s", tool.Name, tool.Of, k, tool.Leave)
	}
}

func controllerSpec(dep appsv1.Deployment, version string) map[string]any {
	out, box := map[string]any{}, dep.Spec.Template.Spec.Containers[0]
	if i := slices.IndexFunc(dep.Spec.Template.Spec.Containers, func(b corev1.Container) bool { return slices.Contains(b.Args, "service-mirror") }); i >= 0 {
		box = dep.Spec.Template.Spec.Containers[i]
	}
	if n := dep.Spec.Replicas; n != nil && *n > 1 {
		out["replicas"] = *n
	}
	for _, arg := range box.Args {
		if level, ok := strings.CutPrefix(arg, "-log-level="); ok && level != "info" {
			out["logLevel"] = level
		}
		if arg == "-enable-headless-services" || arg == "-enable-headless-services=true" {
			out["headless"] = true
		}
	}
	if box.Image != linkerd.ControllerImage+":"+version && version != "" {
		out["image"] = box.Image
	}
	if len(box.Resources.Limits)+len(box.Resources.Requests) > 0 {
		out["resources"] = box.Resources
	}
	if a := dep.Spec.Template.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		out["podAntiAffinity"] = true
	}
	return out
}
