package linkerd

import (
	"bytes"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// Hints returns the targets that something of a service mirror's may be of, by a mere search: there are thousands, and mostly all
// of them are known. MirrorsOf says what is so. A lease tells it by its name.
func Hints(k object.Key, body object.Body) []api.ClusterName {
	switch k.Kind {
	case "Lease":
		if name, ok := strings.CutPrefix(k.Name, Lease("")); ok {
			return []api.ClusterName{api.ClusterName(name)}
		}
	case "Service", "Endpoints":
		if name := valueAfter(body.Bytes(), clusterNamed); name != "" {
			return []api.ClusterName{api.ClusterName(name)}
		}
		var out []api.ClusterName
		for _, member := range splitMembers(valueAfter(body.Bytes(), discovers)) {
			if _, cluster, ok := strings.Cut(member, "@"); ok {
				out = append(out, api.ClusterName(cluster))
			}
		}
		return out
	}
	return nil
}

// How these begin in JSON, as a server writes it.
const (
	clusterNamed = ClusterNameLabel + `":"`
	discovers    = RemoteDiscovery + `":"`
)

// valueAfter is the rest of the first plain string in JSON that begins so.
func valueAfter(body []byte, begin string) string {
	at := bytes.Index(body, []byte(begin))
	if at < 0 {
		return ""
	}
	value, _, _ := bytes.Cut(body[at+len(begin):], []byte(`"`))
	return string(value)
}
