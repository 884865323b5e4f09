package linkerd

import (
	"bytes"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// Hints returns the targets that an object of a service mirror may belong to. It only searches the text, because there are thousands
// of such objects; MirrorsOf decides. The name of a Lease contains the target.
func Hints(k object.Key, body object.Body) []api.ClusterName {
	switch k.Kind {
	case "Lease":
		if name, ok := strings.CutPrefix(k.Name, Lease("")); ok {
			return []api.ClusterName{api.ClusterName(name)}
		}
	case "Service", "Endpoints":
		if name := valueAfter(body.Bytes(), clusterNamePrefix); name != "" {
			return []api.ClusterName{api.ClusterName(name)}
		}
		var out []api.ClusterName
		for _, member := range splitMembers(valueAfter(body.Bytes(), discoveryPrefix)) {
			if _, cluster, ok := strings.Cut(member, "@"); ok {
				out = append(out, api.ClusterName(cluster))
			}
		}
		return out
	}
	return nil
}

// How labels and annotations begin in JSON, as a server writes it.
const (
	clusterNamePrefix = ClusterNameLabel + `":"`
	discoveryPrefix   = RemoteDiscovery + `":"`
)

// valueAfter is the rest of the first string in JSON with that beginning.
func valueAfter(body []byte, begin string) string {
	at := bytes.Index(body, []byte(begin))
	if at < 0 {
		return ""
	}
	value, _, _ := bytes.Cut(body[at+len(begin):], []byte(`"`))
	return string(value)
}
