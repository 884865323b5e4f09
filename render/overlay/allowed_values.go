package overlay

import (
	"maps"
	"slices"
	"strings"
)

// checkResources: limits and requests. Claims would hand a device to the pod.
func checkResources(v any) string {
	return only(v, "limits", "requests")
}

// checkProbe: the kubelet runs what a probe says: never a command in the container, nor a call to another host.
func checkProbe(v any) string {
	why := only(v, "httpGet", "tcpSocket", "grpc", "initialDelaySeconds", "periodSeconds", "timeoutSeconds",
		"successThreshold", "failureThreshold", "terminationGracePeriodSeconds")
	if why != "" {
		return why
	}
	probe, _ := v.(map[string]any)
	for _, h := range []struct {
		name  string
		words []string
	}{
		{"grpc", []string{"port", "service"}},
		{"httpGet", []string{"path", "port", "scheme"}},
		{"tcpSocket", []string{"port"}},
	} {
		if why := only(probe[h.name], h.words...); why != "" {
			return h.name + ": " + why
		}
	}
	return ""
}

// only returns which field of a map, which may be missing, is none of those allowed; the first by name.
func only(v any, words ...string) string {
	if v == nil {
		return ""
	}
	m, ok := v.(map[string]any)
	if !ok {
		return "it must be a mapping"
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(words, k) {
			return k + " is not allowed in it, only " + strings.Join(words, ", ")
		}
	}
	return ""
}
