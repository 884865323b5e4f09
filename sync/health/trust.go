package health

import (
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/linkerd"
)

// anchorNotice is for how long before its end the last shared anchor is reported, as by `linkerd check` (linkerd2 pkg/issuercerts: issuer.go, trust
// anchors valid for 60 days).
const anchorNotice = 60 * 24 * time.Hour

// Trust is what the trust anchors of a link's ends say.
type Trust struct {
	Why  *object.Reason // what is wrong with them; nil: nothing, or those of an end are not known
	Next time.Time      // when that may differ by the clock; zero: never
}

// Broken reports whether proxies of source and target cannot talk to each other.
func (t Trust) Broken() bool { return t.Why != nil && t.Why.Code == reason.TrustAnchorsNotShared }

// Trust compares the anchors of both ends as sets of certificates. An issuer that is signed by one shared anchor is enough:
// that the sets are equal, as Linkerd's own check wants it, is more than a rotation can give.
func (v Link) Trust(now time.Time) Trust {
	source, target := v.Source.Facts.Anchors, v.Target.Facts.Anchors
	if !v.Source.Known() || !v.Target.Known() || len(source) == 0 || len(target) == 0 {
		return Trust{}
	}
	shared := slices.DeleteFunc(slices.Clone(source), func(a linkerd.Anchor) bool {
		return !slices.Contains(target, a) || !now.Before(a.Expires)
	})
	from, to := v.Link.Source.Name, v.Link.Target.Name
	if len(shared) == 0 {
		return Trust{Why: object.Because(reason.TrustAnchorsNotShared,
			"proxies of %s and %s share no valid trust anchor: give both all anchors in ConfigMap linkerd-identity-trust-roots, and restart the proxies; %s has %s; %s has %s",
			from, to, from, describeAnchors(source), to, describeAnchors(target))}
	}
	last := slices.MaxFunc(shared, func(a, b linkerd.Anchor) int { return a.Expires.Compare(b.Expires) })
	notice := last.Expires.Add(-anchorNotice)
	switch only := describeAnchors(without(source, target)); {
	case !now.Before(notice):
		return Trust{Next: last.Expires, Why: object.Because(reason.TrustAnchorExpiring,
			"the last valid trust anchor that proxies of %s and %s share is %s: give both clusters a newer one before it expires", from, to, last.Short())}
	case !slices.Equal(source, target):
		return Trust{Next: notice, Why: object.Because(reason.TrustAnchorsDiffer,
			"trust anchors of %s and %s differ: finish their rotation; both clusters have %s; apart from shared ones, %s has %s, and %s has %s",
			from, to, last.Short(), from, only, to, describeAnchors(without(target, source)))}
	}
	return Trust{Next: notice}
}

// anchorsHidden returns a reason if the anchors of an end may not be read; else nil.
func (v Link) anchorsHidden() *object.Reason {
	if why := v.Source.Facts.MissingFor(linkerd.AsAnchor); why != nil {
		return object.Because(why.Code, "cluster %s: %s", v.Link.Source.Name, why.Message)
	}
	if why := v.Target.Facts.MissingFor(linkerd.AsAnchor); why != nil {
		return object.Because(why.Code, "cluster %s: %s", v.Link.Target.Name, why.Message)
	}
	return nil
}

// anchorsUnknown returns why the anchors of an end are not known.
func (v Link) anchorsUnknown() *object.Reason {
	switch {
	case !v.Source.Known():
		return notRead(v.Link.Source.Name, v.Source.Err)
	case !v.Target.Known():
		return notRead(v.Link.Target.Name, v.Target.Err)
	}
	if why := v.anchorsHidden(); why != nil {
		return why
	}
	without := v.Link.Source
	if len(v.Source.Facts.Anchors) > 0 {
		without = v.Link.Target
	}
	return object.Because(reason.Unknown, "cluster %s shows no trust anchor: check ConfigMap linkerd-identity-trust-roots in namespace %s", without.Name, without.Spec.Linkerd.Namespace)
}

func without(all, others []linkerd.Anchor) []linkerd.Anchor {
	return slices.DeleteFunc(slices.Clone(all), func(a linkerd.Anchor) bool { return slices.Contains(others, a) })
}

// maxAnchors of a set are named.
const maxAnchors = 3

func describeAnchors(all []linkerd.Anchor) string {
	if len(all) == 0 {
		return "none"
	}
	names := make([]string, 0, maxAnchors+1)
	for _, a := range all[:min(len(all), maxAnchors)] {
		names = append(names, a.Short())
	}
	if len(all) > maxAnchors {
		names = append(names, "and more")
	}
	return strings.Join(names, ", ")
}

// Distrust returns why the source's end is held where the link requires shared anchors, or nil. Anchors that nobody lets linkwright read may be
// shared or not.
func (v Link) Distrust(now time.Time) *object.Reason {
	if why := v.anchorsHidden(); why != nil && v.Link.Spec.TrustAnchors == api.Require {
		return why
	}
	if t := v.Trust(now); v.Link.Spec.TrustAnchors == api.Require && t.Broken() {
		return t.Why
	}
	return nil
}
