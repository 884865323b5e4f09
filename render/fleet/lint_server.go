package fleet

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/linkwright/linkwright/api"
)

// localServers warns of addresses that mean something to a machine or a cluster alone.
func localServers(x *linted) []api.Problem {
	var out []api.Problem
	for _, d := range x.docs {
		server := d.value.Spec.APIServer
		u, err := url.Parse(server)
		if server == "" || err != nil || !d.sound {
			continue
		}
		if why := local(strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))); why != "" {
			out = append(out, api.Problem{
				Pos:     d.at("spec", "apiServer"),
				Message: fmt.Sprintf("spec.apiServer: %q is %s: no peer can use it", server, why),
				Hint:    "the https URL under which other clusters reach this one",
			})
		}
	}
	return out
}

// local says what a host is that only its own machine or cluster can reach, or nothing. A name without a dot may well
// be known to peers, as container names are.
func local(host string) string {
	ip, err := netip.ParseAddr(host)
	switch {
	case err == nil && (ip.Unmap().IsLoopback() || ip.IsUnspecified()), host == "localhost", strings.HasSuffix(host, ".localhost"):
		return "a loopback address"
	case err == nil && ip.IsLinkLocalUnicast():
		return "a link-local address"
	case host == "kubernetes", strings.HasPrefix(host+".", "kubernetes.default."),
		strings.HasSuffix(host, ".svc"), strings.HasSuffix(host, ".cluster.local"):
		return "a name that only pods of the cluster itself can resolve"
	}
	return ""
}
