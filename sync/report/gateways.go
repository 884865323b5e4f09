package report

import (
	"strconv"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report/output"
)

// Mirrors are the mirrors of a link in its source.
type Mirrors struct {
	Services int            // mirror Services, also those that the control plane resolves in the target
	Serving  int            // mirrors with a ready address
	NotReady int            // mirrors with addresses, none of them ready
	Hidden   *object.Reason // why they may not be read; nil: they may
}

// GatewayList lists the gateway of each link's target, as the mirrors in the source show it.
func (o Overview) GatewayList() Listing {
	m, all := redacting(nil), make([]output.Gateway, 0, len(o.Links))
	for _, l := range o.Links {
		g := output.Gateway{TypeMeta: output.Of(output.KindGateway), Source: string(l.Pair.Source), Target: string(l.Pair.Target)}
		alive, why := l.gatewayAlive(recordedEnd(m, UnknownEnd, l.Pair.Source, o.Clusters).Reason)
		if g.Alive, g.Reason = alive, m.reason(why); l.Mirrors != nil && l.Mirrors.Hidden == nil {
			g.Services, g.ReadyServices = &l.Mirrors.Services, &l.Mirrors.Serving
		}
		all = append(all, g)
	}
	return listing(output.KindGatewayList, all, func(all []output.Gateway, _ bool) [][]string { return gatewayRows(all) })
}

// gatewayAlive is whether the gateway of a link's target is alive, and why not, or why that is not known. unread is why the source was not read.
func (l RecordedLink) gatewayAlive(unread *object.Reason) (string, *object.Reason) {
	switch {
	case l.Source == AbsentEnd:
		return object.Unknown, object.Because(reason.Leaving, "cluster %s holds nothing of the link any more", l.Pair.Source)
	case l.Mirrors == nil && unread != nil:
		return object.Unknown, unread
	case l.Mirrors == nil:
		return object.Unknown, object.Because(reason.NotRead, "cluster %s was not read", l.Pair.Source)
	case l.Mirrors.Hidden != nil:
		return object.Unknown, l.Mirrors.Hidden
	case l.Mirrors.Serving > 0:
		return object.True, nil
	case l.Mirrors.NotReady > 0:
		return object.False, object.Because(reason.GatewayNotAlive, "no address of its %s is ready: linkwright check --repo URL says what to look at", object.Count(l.Mirrors.NotReady, "mirror"))
	}
	return object.Unknown, object.Because(reason.NoMirrors, "no mirror has an address, so nothing shows whether the gateway is alive")
}

func gatewayRows(all []output.Gateway) [][]string {
	rows := [][]string{{"source", "target", "alive", "services", "ready", "message"}}
	for _, g := range all {
		rows = append(rows, []string{g.Source, g.Target, g.Alive, numberIfKnown(g.Services), numberIfKnown(g.ReadyServices), sentence(g.Reason)})
	}
	return rows
}

// numberIfKnown is a number in digits; empty: it is not known.
func numberIfKnown(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}
