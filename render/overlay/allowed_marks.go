package overlay

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/linkwright/linkwright/render/marks"
)

// rule is what stands against a label or annotation; empty: nothing.
type rule string

const (
	noName          = "it is not a valid name: use at most 63 letters, digits, dashes, dots and underscores, with an optional domain and slash before"
	noPodAnnotation = "a pod may have only the annotations that docs/how-to/overlays.md lists, because others can make a webhook or the container runtime change it"
)

func among(rows []marks.Mark, key string) rule {
	for _, m := range rows {
		if key == m.Name || (!isWhole(m.Name) && strings.HasPrefix(key, m.Name)) {
			return rule(m.Why)
		}
	}
	return ""
}

// isWhole reports whether a mark's name is one name, no beginning of names.
func isWhole(name string) bool {
	return !strings.HasSuffix(name, "/") && !strings.HasSuffix(name, ".")
}

func annotationRule(key string) rule {
	if why := among(marks.OfAll(), key); why != "" {
		return why
	}
	if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
		return noName
	}
	return ""
}

func labelRule(key string) rule {
	if why := among(marks.OfAll(), key); why != "" {
		return why
	}
	if len(validation.IsQualifiedName(key)) > 0 {
		return noName
	}
	return ""
}

func podLabelRule(key string) rule {
	if why := labelRule(key); why != "" {
		return why
	}
	if ofLinkerd(key) {
		return marks.ByLinkerd
	}
	if why := among(marks.OfPods(), key); why != "" {
		return why
	}
	for _, word := range marks.Suspects() {
		if strings.Contains(strings.ToLower(key), word) {
			return rule("a name with the word " + word + " can make a webhook add a container to the pod")
		}
	}
	return ""
}

func podAnnotationRule(key string) rule {
	why := annotationRule(key)
	switch {
	case why != "":
		return why
	case ofLinkerd(key):
		return proxyRule(key)
	}
	for _, name := range marks.PodAnnotations() {
		if key == name || !isWhole(name) && strings.HasPrefix(key, name) {
			return ""
		}
	}
	return cmp.Or(among(marks.OfPods(), key), noPodAnnotation)
}

// ofLinkerd reports whether a key's prefix is linkerd.io or below it.
func ofLinkerd(key string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	return prefix == "linkerd.io" || strings.HasSuffix(prefix, ".linkerd.io")
}

func proxyRule(key string) rule {
	if slices.Contains(marks.ProxySettings(), key) {
		return ""
	}
	return "an overlay may set only Linkerd's annotations for sizes, ports, times and logs of the proxy"
}

func noAnnotation(string) rule {
	return "an annotation can make a tool copy a Secret to another namespace: give your patch a target without Secrets, or use a label"
}
