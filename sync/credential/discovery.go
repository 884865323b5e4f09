package credential

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Discovers reports whether the source's Linkerd Link may name remote-discovery and federated selectors: once the control plane's secret is live.
// One that names them already keeps them when the secret is lost: the secret comes back before the Link, while dropping the selectors would take
// their mirrors away. Where somebody else writes that secret, the end is held without it.
func (s *Set) Discovers(l fleet.Link) bool {
	if l.Spec.Credentials.Mode == api.Existing {
		return true
	}
	at, observed := l.Source.Spec.Linkerd, s.Clusters[l.Source.Name].Live
	secret := observed.Record(linkerd.ControlPlaneSecret(at, l.Target.Name))
	link := linkerd.LinkKey(at, l.Target.Name)
	body, _ := observed.Body(link)
	return secret.Mark == object.Ours && !secret.Terminating || observed.Record(link).Mark == object.Ours && linkerd.UsesDiscovery(body)
}

// Undiscovered returns a reason if the source's control plane cannot be given the credential of a new link, since nobody granted its Secret by name
// yet; else nil: the link is made without remote discovery and federation. Where the Secret may be there, since it was recorded or the live Linkerd
// Link makes use of it, the whole end is blocked instead.
func (s *Set) Undiscovered(l fleet.Link) *object.Reason {
	observed := s.Clusters[l.Source.Name].Live
	secret := linkerd.ControlPlaneSecret(l.Source.Spec.Linkerd, l.Target.Name)
	why := observed.Hides(secret)
	if why == nil || !l.Spec.UsesRemoteDiscovery() || l.Spec.Credentials.Mode == api.Existing || s.Discovers(l) {
		return nil
	}
	end := object.End{Cluster: l.Source.Name, Link: l.Pair()}
	if inv, _ := inventory.Of(s.Owner, end, observed); inv.Has(secret) {
		return nil
	}
	return object.Because(why.Code, "remote discovery and federation are blocked: %s; the rest of the link is not blocked", why.Message)
}

// Marked returns what the live secret of a source's control plane says of the credential that it holds. One of linkwright without a mark is of an
// earlier linkwright, or was adopted and not applied since.
func (s *Set) Marked(l fleet.Link) string {
	key, observed := linkerd.ControlPlaneSecret(l.Source.Spec.Linkerd, l.Target.Name), s.Clusters[l.Source.Name].Live
	r := observed.Record(key)
	if r.Mark != object.Ours || r.Terminating {
		return ""
	}
	body, _ := observed.Body(key)
	mark := linkerd.MarkOf(body)
	if mark == "" && (r.Digest == 0 || r.Digest == object.AdoptedDigest) {
		return linkerd.Foreign
	}
	return mark
}

// accessHidden returns a reason if nobody sees which access the source of a link has in its target; else nil.
func (s *Set) accessHidden(l fleet.Link) *object.Reason {
	account := render.Account(s.Owner, l.Source.Name)
	observed := s.Clusters[l.Target.Canonical()].Live
	for _, kind := range []string{"Secret", "ServiceAccount"} {
		if why := observed.HidesAny(object.Watch{Kind: kind, Namespace: account.Namespace}); why != nil {
			return object.Because(why.Code, "cluster %s: %s", l.Target.Canonical(), why.Message)
		}
	}
	return nil
}
