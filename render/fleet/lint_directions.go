package fleet

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/linkwright/linkwright/api"
)

func reverse(p api.Pair) api.Pair { return api.Pair{Source: p.Target, Target: p.Source} }

// oneWay warns of pairs with one direction: of those that a mesh's except makes so, and of declared ones among pairs
// that are nearly all linked both ways.
func oneWay(x *lintInput) []api.Problem {
	out := x.oneWayLinks()
	for _, m := range x.meshRules {
		out = append(out, x.oneWayExcepts(m)...)
	}
	return out
}

func (x *lintInput) oneWayExcepts(m *mesh) []api.Problem {
	var out []api.Problem
	for i, e := range m.doc.value.Spec.Except {
		_, linked := x.Link(e.Pair())
		_, back := x.Link(reverse(e.Pair()))
		if linked || !back || containsIndex(m.idle, i) {
			continue
		}
		out = append(out, api.Problem{
			Pos: m.doc.at("spec", "except", strconv.Itoa(i)),
			Message: fmt.Sprintf("%s excepts %s, but %s is linked: services of %s appear in %s, and not the other way round",
				m.from, e.Pair(), reverse(e.Pair()), e.Source, e.Target),
			Hint: "except both directions, or neither",
		})
	}
	return firstFew(out)
}

// oneWayLinks checks the pairs of declared Links. It warns only if three of four pairs are linked both ways: otherwise one
// direction is probably intended.
func (x *lintInput) oneWayLinks() []api.Problem {
	const ratio = 3
	byLink := map[*api.Pos]bool{} // positions of declared Links; others are of meshes
	for _, links := range x.linksOf {
		for _, d := range links {
			byLink[&d.origin.at] = true
		}
	}
	var single []Link
	directions := 0
	for source := range x.linksOf {
		for _, d := range x.linksOf[source] {
			pair := api.Pair{Source: x.names[source].Name, Target: x.names[d.index].Name}
			back, ok := x.Link(api.Pair{Source: x.names[d.index].Canonical(), Target: pair.Source})
			switch {
			case !ok:
				l, _ := x.Link(pair)
				single = append(single, l)
			case byLink[back.At]: // the loop meets the pair twice
				directions++
			default:
				directions += 2
			}
		}
	}
	if directions/2 < ratio*len(single) {
		return nil
	}
	var out []api.Problem
	for _, l := range single {
		out = append(out, api.Problem{
			Pos:     *l.At,
			Message: fmt.Sprintf("%s has no reverse: nothing links %s, while %d pairs are linked both ways", l.From, reverse(l.Pair()), directions/2),
			Hint:    "declare that link, too, if both clusters need each other's services",
		})
	}
	return firstFew(out)
}

// federatedOneWay warns of two clusters that are linked both ways and federate one way: <service>-federated then exists
// in one of them alone. A link without a reverse federates one way on purpose: see oneWay.
func federatedOneWay(x *lintInput) []api.Problem {
	tally := linkTally{}
	if x.anyFederates() {
		for i := range x.names {
			x.federatedAt(i, tally)
		}
	}
	return tally.problems(func(c countedLink) string {
		return fmt.Sprintf("%s federates services over %s, but the link %s federates none: only %s has the federated service",
			c.From, c.link(), reverse(c.Pair()), c.Source.Name)
	}, "add federatedServiceSelector to the other direction")
}

func (x *lintInput) anyFederates() bool {
	for _, m := range x.meshRules {
		if m.spec.Federates() {
			return true
		}
	}
	return slices.ContainsFunc(x.links, func(d declared[api.LinkDoc]) bool { return d.value.Spec.Federates() })
}

// federatedAt walks the links from and to one cluster side by side; both are sorted by the other end.
func (x *lintInput) federatedAt(cluster int, tally linkTally) {
	in := x.into(x.names[cluster].Name)
	for _, l := range x.Out(x.names[cluster].Name) {
		for len(in) > 0 && in[0].Source.Name < l.Target.Name {
			in = in[1:]
		}
		if l.Spec.Federates() && len(in) > 0 && in[0].Source == l.Target && !in[0].Spec.Federates() {
			tally.add(l)
		}
	}
}

// nothingMirrored warns of links that can mirror nothing: no gateway in the target, and nothing selected that does without one.
func nothingMirrored(x *lintInput) []api.Problem {
	tally := linkTally{}
	for i := range x.names {
		if target := &x.names[i]; !target.Spec.Gateway.On() {
			for _, l := range x.into(target.Name) {
				if !l.Spec.UsesRemoteDiscovery() {
					tally.add(l)
				}
			}
		}
	}
	return tally.problems(func(c countedLink) string {
		return fmt.Sprintf("%s: nothing can be mirrored over %s, because the target's gateway is disabled, and neither remote discovery nor federation is selected",
			c.From, c.link())
	}, "add remoteDiscoverySelector or federatedServiceSelector, or enable the gateway")
}

// localServers warns of addresses that mean something to a machine or a cluster alone. Clusters whose addresses are of one kind are one warning, at
// the first of them.
func localServers(x *lintInput) []api.Problem {
	var out []api.Problem
	names, first := map[string][]string{}, map[string]int{} // by what the addresses are
	for _, d := range x.docs {
		server := d.value.Spec.APIServer
		u, err := url.Parse(server)
		if server == "" || err != nil || !d.valid {
			continue
		}
		why := localReason(strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")))
		if why == "" {
			continue
		}
		names[why] = append(names[why], d.name())
		if len(names[why]) == 1 {
			first[why] = len(out)
			out = append(out, api.Problem{
				Pos:     d.at("spec", "apiServer"),
				Message: fmt.Sprintf("spec.apiServer: other clusters cannot use %q, because it is %s", server, why),
				Hint:    "declare the https URL that other clusters use",
			})
			continue
		}
		out[first[why]].Message = fmt.Sprintf("spec.apiServer: other clusters cannot use the addresses of %s, because each is %s", someOf(names[why]), why)
	}
	return out
}

// someOf lists the first names, and how many more there are.
func someOf(names []string) string {
	const most = 3
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// localReason returns what a host is that only its own machine or cluster can reach, or nothing. A name without a dot may well
// be known to peers, as container names are.
func localReason(host string) string {
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
