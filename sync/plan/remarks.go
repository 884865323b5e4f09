package plan

import (
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/health"
)

// remarks adds to Ready ends what people should know: short-lived tokens, tokens of a former mode, and what keeps a link from working.
type remarks struct{ *cluster }

func (r remarks) add(s Step) Step {
	for i, row := range s.Rows {
		if row.Phase != Ready || row.Why != nil || row.End.IsBase() {
			continue
		}
		l, ok := r.Fleet.Link(row.End.Link)
		if !ok {
			continue
		}
		var at time.Time
		switch {
		case row.End.IsSource():
			s.Rows[i].Why, at = r.sourceRemark(l, row)
		case l.Spec.Credentials.Mode != api.Existing:
			s.Rows[i].Why, at = r.formerTokens(l)
		}
		s.within(at)
	}
	return s
}

// sourceRemark returns the remark of a source's end, or nil, and when it may change. What keeps the link from working comes first.
func (r remarks) sourceRemark(l fleet.Link, row Row) (*object.Reason, time.Time) {
	var trust health.Trust
	if l.Spec.TrustAnchors != api.Skip {
		trust = health.Link{Pair: r.Identified(l)}.Trust(r.Now)
	}
	if trust.Broken() {
		return trust.Why, trust.Next
	}
	notLoaded, next := restarts(r).notLoaded(l)
	for _, why := range []*object.Reason{r.credentialFailure(l), trust.Why, row.gatewayFailure(), r.gatewayWithoutAddress(l)} {
		if why != nil {
			return why, trust.Next
		}
	}
	if notLoaded == nil && l.Spec.Credentials.Mode == api.Bound {
		notLoaded = r.Rotation(l).Shortened(l)
	}
	return notLoaded, earliest(trust.Next, next)
}

// gatewayWithoutAddress returns that a link keeps its target's last addresses, or nil.
func (r remarks) gatewayWithoutAddress(l fleet.Link) *object.Reason {
	if target := r.TargetFacts(l); target == nil || !target.Gateway.LacksAddress() {
		return nil
	}
	return object.Because(reason.GatewayAddressMissing, "the gateway of %s has no address now, so the link keeps the last one, %s: repair the gateway, or declare spec.gateway.addresses",
		l.Target.Name, strings.Join(r.lastAddresses(l), ","))
}

// credentialFailure returns why the credential in use does not work, or nil.
func (r remarks) credentialFailure(l fleet.Link) *object.Reason {
	if _, asked := r.verifies(object.End{Cluster: l.Source.Name, Link: l.Pair()}); !asked {
		return nil
	}
	v := r.View(l)
	cred, why := r.Link(l)
	if cred == nil || why != nil {
		return nil
	}
	return v.Fails(v.Verified(v.VerificationOf(cred)))
}

// formerTokens returns why former tokens stay, or nil, and when to plan again: no watch shows when a token that the source uses is verified.
func (r remarks) formerTokens(l fleet.Link) (*object.Reason, time.Time) {
	a, bound := r.Access(l), l.Spec.Credentials.Mode == api.Bound
	why := ""
	switch {
	case !bound && len(r.Former(l)) > 0:
		return object.Because(reason.CredentialInUse, "tokens that expire stay until %s uses the one that does not expire", l.Source.Name), time.Time{}
	case a.Requested == nil && (bound || len(r.LegacyTokens(l).Keep) < 2):
		return nil, time.Time{}
	case a.Requested != nil && a.Requested.Revoke && r.Policy().Prune.Policy != api.PruneSync:
		return object.Because(reason.CredentialInUse, "the former token stays, because prune.policy %s of the SyncPolicy does not allow deletes", r.Policy().Prune.Policy), time.Time{}
	case a.AwaitsRestart && r.RestartedByPeople(l):
		why = "the former token stays, because linkwright may not restart Linkerd's destination controller in %s to load the new one: restart it there, then rotate with --revoke"
	case a.AwaitsRestart:
		why = "the former token stays until Linkerd's destination controller in %s loads the new one"
	}
	if why != "" {
		return object.Because(reason.CredentialInUse, why, l.Source.Name), time.Time{}
	}
	var at time.Time
	if now, _ := r.Link(l); r.Identified(l).Uses(now) {
		at = r.Now.Add(retryInterval)
	}
	return object.Because(reason.CredentialInUse, "the former token stays until %s uses the new one, and linkwright has verified it", l.Source.Name), at
}
