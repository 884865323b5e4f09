package overlay

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/linkwright/linkwright/render/marks"
)

// denial is why a label or annotation is not allowed; empty: it is.
type denial string

const (
	noName          = "it is not a valid name: use at most 63 letters, digits, dashes, dots and underscores, with an optional domain and slash before"
	noPodAnnotation = "a pod may have only the annotations that docs/how-to/overlays.md lists, because others can make a webhook or the container runtime change it"
)

func denialFor(rows []marks.Mark, key string) denial {
	for _, m := range rows {
		if key == m.Name || (!isExactName(m.Name) && strings.HasPrefix(key, m.Name)) {
			return denial(m.Why)
		}
	}
	return ""
}

// isExactName reports whether a mark's name is a whole name, and no prefix.
func isExactName(name string) bool {
	return !strings.HasSuffix(name, "/") && !strings.HasSuffix(name, ".")
}

func annotationDenial(key string) denial {
	if why := denialFor(marks.OfAll(), key); why != "" {
		return why
	}
	if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
		return noName
	}
	return ""
}

func labelDenial(key string) denial {
	if why := denialFor(marks.OfAll(), key); why != "" {
		return why
	}
	if len(validation.IsQualifiedName(key)) > 0 {
		return noName
	}
	return ""
}

func podLabelDenial(key string) denial {
	if why := labelDenial(key); why != "" {
		return why
	}
	if isLinkerdKey(key) {
		return marks.ByLinkerd
	}
	if why := denialFor(marks.OfPods(), key); why != "" {
		return why
	}
	for _, word := range marks.Suspects() {
		if strings.Contains(strings.ToLower(key), word) {
			return denial("a name with the word " + word + " can make a webhook add a container to the pod")
		}
	}
	return ""
}

func podAnnotationDenial(key string) denial {
	why := annotationDenial(key)
	switch {
	case why != "":
		return why
	case isLinkerdKey(key):
		return proxyDenial(key)
	}
	for _, name := range marks.PodAnnotations() {
		if key == name || !isExactName(name) && strings.HasPrefix(key, name) {
			return ""
		}
	}
	return cmp.Or(denialFor(marks.OfPods(), key), noPodAnnotation)
}

// isLinkerdKey reports whether a key's prefix is linkerd.io or below it.
func isLinkerdKey(key string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	return prefix == "linkerd.io" || strings.HasSuffix(prefix, ".linkerd.io")
}

func proxyDenial(key string) denial {
	if slices.Contains(marks.ProxySettings(), key) {
		return ""
	}
	return "an overlay may set only Linkerd's annotations for sizes, ports, times and logs of the proxy"
}

func anyAnnotationDenial(string) denial {
	return "an annotation can make a tool copy a Secret to another namespace: give your patch a target without Secrets, or use a label"
}
