package overlay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/linkwright/linkwright/object"
)

// extra is one object that a Component adds, with all that is wrong with it.
type extra struct {
	id      identity
	content map[string]any
	origin  string // its file
	faults  []string
}

// identity is the key and version of an object.
type identity struct {
	key     object.Key
	version string
}

// identify reads the identity of an object; missing fields are empty.
func identify(content map[string]any) identity {
	meta, _ := content["metadata"].(map[string]any)
	var id identity
	apiVersion, _ := content["apiVersion"].(string)
	if group, version, ok := strings.Cut(apiVersion, "/"); ok {
		id.key.Group, id.version = group, version
	} else {
		id.version = apiVersion
	}
	id.key.Kind, _ = content["kind"].(string)
	id.key.Name, _ = meta["name"].(string)
	id.key.Namespace, _ = meta["namespace"].(string)
	return id
}

// extraPolicy is what extras may be: their kinds, and their namespace.
type extraPolicy struct {
	kinds     Kinds
	namespace string
}

// extras checks the objects that a Component adds. They are sorted by key.
func (h extraPolicy) extras(made []builtObject) ([]extra, error) {
	out := make([]extra, 0, len(made))
	for _, m := range made {
		content, err := decode(m.Body)
		if err != nil {
			return nil, err
		}
		out = append(out, h.check(content, m.Origin))
	}
	slices.SortStableFunc(out, func(a, b extra) int {
		return cmp.Or(a.id.key.Compare(b.id.key), cmp.Compare(a.origin, b.origin))
	})
	for i := 1; i < len(out); i++ {
		if out[i].id.key == out[i-1].id.key {
			out[i].faults = append(out[i].faults, "it is declared twice: remove one")
		}
	}
	return out, nil
}

// check runs the checks, all of them; the namespace is filled in.
func (h extraPolicy) check(content map[string]any, origin string) extra {
	e := extra{content: content, origin: origin}
	meta, _ := content["metadata"].(map[string]any)
	e.id = identify(content)
	for _, check := range []func(extra, map[string]any) []string{
		h.checkKind, h.checkName, h.checkNamespace, checkMetadata, checkMarks, checkFields, checkMonitor, checkSecrets,
	} {
		e.faults = append(e.faults, check(e, meta)...)
	}
	if meta != nil {
		meta["namespace"] = h.namespace
	}
	if e.id.key.Namespace == "" {
		e.id.key.Namespace = h.namespace
	}
	return e
}

// checkKind allows the kinds of the flag, except those that no flag allows.
func (h extraPolicy) checkKind(e extra, _ map[string]any) []string {
	g := groupKind{e.id.key.Kind, e.id.key.Group}
	switch why := g.forbidden(); {
	case g.kind == "" || e.id.version == "":
		return []string{"it needs an apiVersion and a kind"}
	case !e.hasValidType():
		return []string{"its apiVersion or kind is invalid: write them like policy.linkerd.io/v1beta3 and Server"}
	case why != "":
		return []string{"an overlay must not add this kind: " + why}
	case !h.kinds.allow(g):
		return []string{fmt.Sprintf("this kind is not allowed, only %s: remove it, or run linkwright with --overlay-kinds", h.kinds)}
	}
	return nil
}

// hasValidType reports whether apiVersion and kind are well formed: requests to the cluster are made of them.
func (e extra) hasValidType() bool {
	apiVersion, _ := e.content["apiVersion"].(string)
	group := e.id.key.Group
	return (len(validation.IsDNS1123Subdomain(group)) == 0 || apiVersion == e.id.version) &&
		regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`).MatchString(e.id.version) &&
		regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`).MatchString(e.id.key.Kind)
}

// checkName denies names of rendered objects: the disruption budget of a link's controller is called controller-<target>.
func (h extraPolicy) checkName(e extra, _ map[string]any) []string {
	name := e.id.key.Name
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return []string{fmt.Sprintf("%q is not a valid name: use lower case letters and digits, with dots and dashes between them, at most %d characters", name, validation.DNS1123SubdomainMaxLength)}
	}
	if e.id.key.Kind == "PodDisruptionBudget" && strings.HasPrefix(name, "controller-") {
		return []string{"links use disruption budgets named controller-…: give it another name, or declare controller.podAntiAffinity of the Link"}
	}
	return nil
}

func (h extraPolicy) checkNamespace(e extra, _ map[string]any) []string {
	if ns := e.id.key.Namespace; ns != "" && ns != h.namespace {
		return []string{fmt.Sprintf("namespace %s is not the cluster's multicluster namespace, %s: remove metadata.namespace", ns, h.namespace)}
	}
	return nil
}

// checkMetadata allows names, labels and annotations. Other fields belong to the server, or can make others delete the object.
func checkMetadata(_ extra, meta map[string]any) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(meta)) {
		if !slices.Contains([]string{"name", "namespace", "labels", "annotations"}, k) && meta[k] != nil {
			out = append(out, "metadata."+k+" must not be set: remove it")
		}
	}
	return out
}

// checkMarks checks labels and annotations as those that an overlay adds to rendered objects.
func checkMarks(_ extra, meta map[string]any) []string {
	var m merge
	for _, f := range []field{{path: "labels", keys: labelDenial}, {path: "annotations", keys: annotationDenial}} {
		at := &fieldRef{name: "metadata." + f.path, path: f.path, tree: &tree{leaf: &f}, parent: &fieldRef{}}
		m.value(at, nil, meta[f.path])
	}
	out := make([]string, len(m.violations))
	for i, r := range m.violations {
		out[i] = r.String()
	}
	return out
}

// checkFields denies status, which only a controller may write.
func checkFields(e extra, _ map[string]any) []string {
	if e.content["status"] != nil {
		return []string{"status must not be set: remove it"}
	}
	return nil
}

// checkSecrets denies references to Secrets: the program that reads such a Secret could send it anywhere.
func checkSecrets(e extra, _ map[string]any) []string {
	if e.id.key.Kind == "ConfigMap" {
		return nil // its keys are no fields
	}
	if at := secretField(&fieldRef{}, e.content); at != "" {
		return []string{at + " refers to a Secret, which is not allowed in an overlay: remove it"}
	}
	return nil
}

// secretField finds the first field whose name means that it holds or names a secret; labels are no fields.
func secretField(p *fieldRef, v any) string {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			below := p.child(k)
			if strings.Contains(strings.ToLower(k), "secret") {
				return below.name
			}
			if k == "matchLabels" || k == "labels" || k == "annotations" {
				continue
			}
			if at := secretField(below, v[k]); at != "" {
				return at
			}
		}
	case []any:
		for i, item := range v {
			if at := secretField(p.item(fmt.Sprint(i)), item); at != "" {
				return at
			}
		}
	}
	return ""
}

// seal makes the object to apply.
func (e extra) seal(owner string) (object.Object, error) {
	return object.Seal(object.Spec{Key: e.id.key, Version: e.id.version, Phase: object.PhaseExtras, Owner: owner}, e.content)
}

// decode reads one object, keeping numbers as written.
func decode(body []byte) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("read the output of the build: %w", err)
	}
	if m == nil {
		return nil, fmt.Errorf("read the output of the build: an object is empty")
	}
	return m, nil
}
