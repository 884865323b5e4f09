package overlay

import (
	"maps"
	"slices"
	"strings"
)

// checkResources allows limits and requests. Claims would give a device to the pod.
func checkResources(v any) string {
	return disallowedKey(v, "limits", "requests")
}

// checkProbe allows no command in the container and no request to another host, because the kubelet executes probes.
func checkProbe(v any) string {
	why := disallowedKey(v, "httpGet", "tcpSocket", "grpc", "initialDelaySeconds", "periodSeconds", "timeoutSeconds",
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
		if why := disallowedKey(probe[h.name], h.words...); why != "" {
			return h.name + ": " + why
		}
	}
	return ""
}

// disallowedKey returns the first field of a map, by name, that is not among the allowed ones, as a message; empty: there is none.
func disallowedKey(v any, words ...string) string {
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
