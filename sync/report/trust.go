package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/report/output"
)

// TrustAnchor is a trust anchor in a cluster.
type TrustAnchor struct {
	Cluster              api.ClusterName
	Fingerprint, Subject string
	Expires              time.Time
	InBundle, Expired    bool
	SignsIssuer          string // object.True, False or Unknown
	Proxies              int
	Knowing, Unknown     int    // proxies that know it, and those of which that is not known
	Removable            string // object.True, False or Unknown
	Needs                int    // reasons not to remove it
}

// TrustAnchors lists anchors, in their order.
func TrustAnchors(all []TrustAnchor) Listing {
	m, out := redacting(nil), make([]output.TrustAnchor, 0, len(all))
	for _, a := range all {
		out = append(out, output.TrustAnchor{
			TypeMeta: output.Of(output.KindTrustAnchor), Cluster: string(a.Cluster), Fingerprint: a.Fingerprint, Subject: m.line(a.Subject), Expires: a.Expires,
			InBundle: a.InBundle, SignsIssuer: a.SignsIssuer, Proxies: a.Proxies, KnowingProxies: a.Knowing, UnknownProxies: a.Unknown, Removable: a.Removable, Needs: a.Needs,
		})
	}
	return listing(output.KindTrustAnchorList, out, func(rows []output.TrustAnchor, wide bool) [][]string { return anchorRows(rows, all, wide) })
}

func anchorRows(rows []output.TrustAnchor, all []TrustAnchor, wide bool) [][]string {
	out := [][]string{{"cluster", "anchor", "subject", "expires", "bundle", "issuer", "proxies", "removable"}}
	for i, a := range rows {
		anchor, expires := a.Fingerprint[:min(16, len(a.Fingerprint))], a.Expires.Format(time.DateOnly)
		if wide {
			anchor = a.Fingerprint
		}
		if all[i].Expired {
			expires += " (expired)"
		}
		proxies, removable := fmt.Sprintf("%d/%d", a.KnowingProxies, a.Proxies), yesOrNo(a.Removable)
		if a.UnknownProxies > 0 {
			proxies += fmt.Sprintf(" (%d unknown)", a.UnknownProxies)
		}
		if a.Needs > 0 {
			removable += fmt.Sprintf(" (%d)", a.Needs)
		}
		bundle := "no"
		if a.InBundle {
			bundle = "yes"
		}
		out = append(out, []string{a.Cluster, anchor, a.Subject, expires, bundle, yesOrNo(a.SignsIssuer), proxies, removable})
	}
	return out
}

// yesOrNo is a status for people.
func yesOrNo(status string) string {
	switch status {
	case object.True:
		return "yes"
	case object.False:
		return "no"
	}
	return strings.ToLower(status)
}

// SumOfAnchors is one line about all anchors.
func SumOfAnchors(all []TrustAnchor) string {
	status := map[string]string{}
	for _, a := range all {
		status[a.Fingerprint] = a.Removable
	}
	n := map[string]int{}
	for _, s := range status {
		n[s]++
	}
	line := fmt.Sprintf("%s: %d may be removed, %d needed", object.Count(len(status), "trust anchor"), n[object.True], n[object.False])
	if n[object.Unknown] > 0 {
		line += fmt.Sprintf(", %d unknown", n[object.Unknown])
	}
	return line
}

// TrustNeed is a reason not to remove a trust anchor.
type TrustNeed struct {
	Cluster api.ClusterName
	Object  object.Key
	Unknown bool // nobody knows whether it needs it
	Why     object.Reason
}

// TrustNeeds lists reasons, in their order.
func TrustNeeds(all []TrustNeed) Listing {
	m, out := redacting(nil), make([]output.TrustNeed, 0, len(all))
	for _, n := range all {
		one := output.TrustNeed{TypeMeta: output.Of(output.KindTrustNeed), Cluster: string(n.Cluster), Object: n.Object, Status: "Needed", Reason: m.reason(&n.Why)}
		if n.Unknown {
			one.Status = object.Unknown
		}
		out = append(out, one)
	}
	return listing(output.KindTrustNeedList, out, func(all []output.TrustNeed, _ bool) [][]string { return needRows(all) })
}

func needRows(all []output.TrustNeed) [][]string {
	rows := [][]string{{"cluster", "kind", "namespace", "name", "reason", "message"}}
	for _, n := range all {
		rows = append(rows, []string{n.Cluster, n.Object.Kind, n.Object.Namespace, n.Object.Name, string(n.Reason.Code), n.Reason.Message})
	}
	return rows
}
