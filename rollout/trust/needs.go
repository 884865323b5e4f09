package trust

import (
	"errors"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Need is one reason not to remove an anchor.
type Need struct {
	Cluster api.ClusterName
	Object  object.Key // what needs it, or may need it
	Unknown bool       // nobody knows whether it needs it
	Why     object.Reason
}

// Removable reports whether an anchor with these needs may be removed: object.True, False or Unknown.
func Removable(needs []Need) string {
	switch {
	case len(needs) == 0:
		return object.True
	case slices.ContainsFunc(needs, func(n Need) bool { return !n.Unknown }):
		return object.False
	}
	return object.Unknown
}

// Needs returns why an anchor may not be removed now; none: it may. For each cluster, in this order:
//
//	the cluster      it was not read
//	the bundle       it has no other anchor, or lacks one that signs the issuer of a cluster
//	the issuer       no other anchor signs it, or nobody knows which one does, or that one has expired
//	the clock        certificates of a former issuer may be valid: nobody knows which anchor signed it, and perhaps not until when they are
//	the workloads    a proxy does not trust the issuer of a cluster without the anchor, or nobody knows what it trusts
func (m Mesh) Needs(x Anchor, now time.Time) []Need {
	var out []Need
	rest := m.required(x, now)
	for i := range m.clusters {
		c := &m.clusters[i]
		if c.Err != nil {
			out = append(out, m.unread(c))
			continue
		}
		out = append(out, c.bundleNeeds(x, rest)...)
		out = append(out, m.issuerNeeds(c, x, now)...)
		for _, w := range c.workloads {
			out = append(out, c.workloadNeeds(w, x, rest)...)
		}
	}
	return out
}

func (c *cluster) needs(key object.Key, why *object.Reason) Need {
	return Need{Cluster: c.Name, Object: key, Why: *why}
}

func (n Need) unknown() Need {
	n.Unknown = true
	return n
}

// own is an object in the namespace of the cluster's control plane.
func (c *cluster) own(kind, name string) object.Key {
	return object.Key{Kind: kind, Namespace: c.Namespace, Name: name}
}

// required is what must be trusted without an anchor: the other anchors of which one is enough for the issuer of a cluster.
type required struct {
	cluster api.ClusterName
	anchors []Anchor
}

// required returns what all must trust without x. An issuer that only x signs, or nobody knows what, requires nothing: it is a need itself.
func (m Mesh) required(x Anchor, now time.Time) (out []required) {
	for _, c := range m.clusters {
		others := without(c.signers, x)
		if valid := slices.DeleteFunc(slices.Clone(others), func(a Anchor) bool { return !now.Before(a.Expires) }); len(valid) > 0 {
			others = valid
		}
		if len(others) > 0 {
			out = append(out, required{c.Name, others})
		}
	}
	return out
}

// untrusted returns the clusters whose issuers a set of anchors does not trust.
func untrusted(set []Anchor, all []required) (out []required) {
	return slices.DeleteFunc(slices.Clone(all), func(r required) bool { return shares(set, r.anchors) })
}

// names are the clusters, for messages.
func names(all []required) string {
	var out []string
	for _, r := range all {
		if !slices.Contains(out, string(r.cluster)) {
			out = append(out, string(r.cluster))
		}
	}
	return object.FirstNames(out, 3)
}

// Unread returns the clusters that were not read, each as a need of every anchor.
func (m Mesh) Unread() (out []Need) {
	for i := range m.clusters {
		if c := &m.clusters[i]; c.Err != nil {
			out = append(out, m.unread(c))
		}
	}
	return out
}

func (m Mesh) unread(c *cluster) Need {
	why := m.explain(c.Err)
	if errors.Is(c.Err, ErrNoBundle) {
		why = *object.Because(reason.LinkerdNotInstalled, "namespace %s has no ConfigMap %s: install Linkerd, or give its namespace with --linkerd-namespace", c.Namespace, linkerd.TrustRoots)
	}
	return c.needs(object.Key{Kind: "Cluster", Name: string(c.Name)}, &why).unknown()
}

func (c *cluster) bundleNeeds(x Anchor, rest []required) []Need {
	key, left := c.own("ConfigMap", linkerd.TrustRoots), without(c.bundle, x)
	switch {
	case len(c.bundle) == 0:
		return []Need{c.needs(key, object.Because(reason.Unknown, "the bundle has no certificate: put the trust anchors of the mesh into key %s", linkerd.TrustRootsKey)).unknown()}
	case len(left) == 0:
		return []Need{c.needs(key, object.Because(reason.LastTrustAnchor, "the bundle has no other trust anchor: add one to the bundle of each cluster, and restart the proxies"))}
	}
	var out []Need
	for missing := untrusted(left, rest); len(missing) > 0; {
		a := missing[0].anchors[0]
		others := slices.DeleteFunc(slices.Clone(missing), func(r required) bool { return contains(r.anchors, a) })
		of := slices.DeleteFunc(missing, func(r required) bool { return !contains(r.anchors, a) })
		out = append(out, c.needs(key, object.Because(reason.TrustAnchorMissing,
			"the bundle lacks %s, which signs the issuer of %s: add it, and restart the proxies", a.Short(), names(of))))
		missing = others
	}
	return out
}

func (m Mesh) issuerNeeds(c *cluster, x Anchor, now time.Time) []Need {
	key, others := c.own("Secret", Secret), without(c.signers, x)
	switch {
	case len(c.signers) == 0:
		return []Need{c.needs(key, m.issuerUnknown(c)).unknown()}
	case len(others) == 0:
		return []Need{c.needs(key, object.Because(reason.IssuerUsesAnchor, "only this trust anchor signs the issuer: replace its certificate by one that another anchor signs"))}
	case !now.Before(c.chain[0].NotAfter):
		return []Need{c.needs(key, object.Because(reason.IssuerExpired, "the certificate of the issuer expired at %s: replace it", stamp(c.chain[0].NotAfter)))}
	case !slices.ContainsFunc(others, func(a Anchor) bool { return now.Before(a.Expires) }):
		return []Need{c.needs(key, object.Because(reason.IssuerExpired, "the other trust anchor %s expired: replace the issuer's certificate by one of a valid anchor", others[0].Short()))}
	}
	return m.formerNeeds(c, now)
}

// formerNeeds returns the need of a former issuer while its certificates may be valid. Nobody knows which anchor signed it.
func (m Mesh) formerNeeds(c *cluster, now time.Time) []Need {
	key := c.own("Secret", Secret)
	until, err := c.former()
	switch {
	case err != nil:
		why := m.explain(err)
		return []Need{c.needs(c.own("ConfigMap", ConfigMap), object.Because(why.Code, "nobody knows how long certificates of a former issuer are valid: %s", why.Message)).unknown()}
	case until.IsZero():
		return []Need{c.needs(key, object.Because(reason.FormerIssuer,
			"nothing shows when the Secret was last written, so certificates of a former issuer may be valid: give --issuers-since")).unknown()}
	case !now.Before(until):
		return nil
	case c.Issuer.Since.IsZero():
		return []Need{c.needs(key, object.Because(reason.FormerIssuer,
			"nothing shows which trust anchor signed the former issuer, whose certificates may be valid until %s: wait, or give --issuers-since", stamp(until))).unknown()}
	}
	return []Need{c.needs(key, object.Because(reason.FormerIssuer, "certificates of a former issuer may be valid until %s: wait until then", stamp(until))).unknown()}
}

// stamp is a time in messages.
func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// issuerUnknown returns why nobody knows which anchor signs the issuer.
func (m Mesh) issuerUnknown(c *cluster) *object.Reason {
	switch {
	case errors.Is(c.Issuer.Err, ErrNoIssuer):
		return object.Because(reason.IssuerUnknown, "the Secret does not exist or has no certificate, so nothing shows which trust anchor signs the issuer: find out which one does")
	case c.Issuer.Err != nil:
		why := m.explain(c.Issuer.Err)
		return &why
	case len(c.chain) == 0:
		return object.Because(reason.IssuerUnknown, "the certificate of the issuer cannot be parsed: replace it, or run linkerd check")
	}
	return object.Because(reason.IssuerUnknown, "no trust anchor of any bundle signs the issuer: add the one that does to the bundle of each cluster")
}

// workloadNeeds compares what the workload's proxies know with what they must trust.
func (c *cluster) workloadNeeds(w workload, x Anchor, rest []required) []Need {
	lacking, missing := 0, []required(nil)
	for _, known := range w.known {
		left := without(known, x)
		if not := untrusted(left, rest); len(left) == 0 || len(not) > 0 {
			lacking, missing = lacking+1, append(missing, not...)
		}
	}
	switch unknown := w.proxies - len(w.known); {
	case len(missing) > 0:
		return []Need{c.needs(w.Key, object.Because(reason.ProxyNeedsAnchor,
			"%d of %d proxies do not trust the issuer of %s without this trust anchor: %s", lacking, w.proxies, names(missing), w.restart()))}
	case lacking > 0:
		return []Need{c.needs(w.Key, object.Because(reason.ProxyNeedsAnchor, "%d of %d proxies know no other trust anchor: %s once the bundle has another one", lacking, w.proxies, w.restart()))}
	case unknown > 0:
		return []Need{c.needs(w.Key, object.Because(reason.ProxyAnchorsUnknown, "nothing shows which trust anchors %d of %d proxies know: %s", unknown, w.proxies, w.restart())).unknown()}
	}
	return nil
}

// restart is how the workload's proxies get the anchors of today.
func (w workload) restart() string {
	if w.Kind == "Pod" {
		return "delete the pod, and create it again"
	}
	return "restart the " + w.Kind
}
