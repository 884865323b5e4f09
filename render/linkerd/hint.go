package linkerd

import (
	"bytes"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// Hints gives the targets that something of a service mirror's may be of, by a mere search: there are thousands, and mostly all
// of them are known. MirrorsOf says what is so. A lease tells it by its name.
func Hints(k object.Key, body object.Body) []api.ClusterName {
	switch k.Kind {
	case "Lease":
		if name, ok := strings.CutPrefix(k.Name, Lease("")); ok {
			return []api.ClusterName{api.ClusterName(name)}
		}
	case "Service", "Endpoints":
		if name := valueOf(body.Bytes(), ClusterNameLabel); name != "" {
			return []api.ClusterName{api.ClusterName(name)}
		}
		var out []api.ClusterName
		for _, member := range splitMembers(valueOf(body.Bytes(), RemoteDiscovery)) {
			if _, cluster, ok := strings.Cut(member, "@"); ok {
				out = append(out, api.ClusterName(cluster))
			}
		}
		return out
	}
	return nil
}

// valueOf is the first plain string of a name in JSON.
func valueOf(body []byte, name string) string {
	_, rest, _ := bytes.Cut(body, []byte(`"`+name+`":"`))
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(value)
}
