// Package health judges whether a link works, and makes conditions of that.
package health

import (
	"fmt"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/credential"
)

// Stage is one thing that must hold for a link to work, after those before it. It is kept for each link, and as small as that asks for.
type Stage uint8

// Stages, in their order.
const (
	EndRenders Stage = iota + 1
	Reachable
	Trusted
	CredentialVerified
	CredentialsWritten
	CredentialsLoaded
	ControllerLeads
	Gateway
	Serving
)

// String returns what people call it.
func (s Stage) String() string {
	return [...]string{
		EndRenders: "renders", Reachable: "target reachable", Trusted: "trust anchors shared", CredentialVerified: "access works", CredentialsWritten: "credentials written",
		CredentialsLoaded: "credentials loaded", ControllerLeads: "controller leads", Gateway: "gateway alive", Serving: "mirrors have endpoints",
	}[s]
}

// failed says of a stage that it failed: its name alone would say the opposite.
func (s Stage) failed() string {
	return [...]string{
		EndRenders: "not rendered", Reachable: "target not reachable", Trusted: "trust anchors not shared", CredentialVerified: "access does not work", CredentialsWritten: "credentials not written",
		CredentialsLoaded: "credentials not loaded", ControllerLeads: "controller does not lead", Gateway: "gateway not alive", Serving: "mirrors have no endpoints",
	}[s]
}

const maxMirrors = 3 // are named

// Result says how a stage came out.
type Result uint8

// Of a stage.
const (
	Passed Result = iota + 1
	Failed
	Unknown       // it was not seen
	NotApplicable // it does not apply, or is declared not to count
)

// String returns how it is reported.
func (p Result) String() string {
	return [...]string{Passed: "passed", Failed: "failed", Unknown: "unknown", NotApplicable: "not applicable"}[p]
}

// Verdict is how a stage of a link came out, and why.
type Verdict struct {
	Stage  Stage
	Result Result
	Why    *object.Reason // of a stage that failed or is unknown; what is worth knowing of one that passed
}

// First returns the first stage that failed; false: none did.
func First(all []Verdict) (Verdict, bool) {
	for _, v := range all {
		if v.Result == Failed {
			return v, true
		}
	}
	return Verdict{}, false
}

// Link is a link with both its ends as they were seen, asked whether it works.
type Link struct {
	credential.Pair
	Owner     string  // of the installation
	Loading   Verdict // whether its source's control plane runs with its credential; zero: it always does, once that is written
	Suspended bool    // it is left as it is, so its credential is not verified
}

// Health judges all stages of a link by what is seen at both ends. Held is why its source's end cannot be rendered, or nil; pulse is
// what its source tells of the target's gateway.
//
//	renders                 the source's end is rendered; unknown while the target is not read
//	target reachable        the target was read
//	trust anchors shared    as Trust; not applicable with trustAnchors: Skip
//	access works            as the last try of the credential; unknown before one
//	credentials written     every Secret of the link is there
//	credentials loaded      as the view has it; not applicable where nothing is seen of it
//	controller leads        its Deployment, or the one that it shares, is ready, and its lease has a holder
//	gateway alive           not all mirrors' addresses are not ready; not applicable without a gateway
//	mirrors have endpoints  every mirror has an address
//
// A failed stage that does not make the link unready says so.
func (v Link) Health(blocked *object.Reason, pulse linkerd.GatewayHealth, now time.Time) []Verdict {
	all := append([]Verdict{v.renders(blocked), v.reachable(), v.trusted(now), v.works(), v.written(), v.loaded()}, v.controllerStages(pulse)...)
	for i, one := range all {
		if _, counts := readinessStages()[one.Stage]; !counts && one.Result == Failed && one.Why != nil {
			all[i].Why = object.Because(one.Why.Code, "%s (this alone does not make the link unready)", one.Why.Message)
		}
	}
	return all
}

// controllerStages returns the last stages alone: those that are read from what Linkerd's controllers write.
func (v Link) controllerStages(pulse linkerd.GatewayHealth) []Verdict {
	return []Verdict{v.leads(), v.gateway(pulse), v.serving(pulse)}
}

func (v Link) renders(blocked *object.Reason) Verdict {
	switch {
	case blocked == nil:
		return Verdict{Stage: EndRenders, Result: Passed}
	case !v.Target.Known(): // without its facts
		return Verdict{EndRenders, Unknown, blocked}
	}
	return Verdict{EndRenders, Failed, blocked}
}

func (v Link) reachable() Verdict {
	if v.Target.Known() {
		return Verdict{Stage: Reachable, Result: Passed}
	}
	if v.Target.Err != nil {
		return Verdict{Reachable, Failed, v.Target.Err}
	}
	return Verdict{Reachable, Unknown, notRead(v.Link.Target.Name, nil)}
}

// notRead is the reason of a stage of which nothing is known, because a cluster was not read: it failed, or it was not tried yet.
func notRead(name api.ClusterName, failed *object.Reason) *object.Reason {
	if failed != nil {
		return object.Because(reason.NotRead, "cluster %s could not be read (%s)", name, failed.Code)
	}
	return object.Because(reason.NotRead, "linkwright has not read cluster %s yet", name)
}

func (v Link) trusted(now time.Time) Verdict {
	trust := v.Trust(now)
	switch {
	case v.Link.Spec.TrustAnchors == api.Skip:
		return Verdict{Stage: Trusted, Result: NotApplicable}
	case trust.Broken():
		return Verdict{Trusted, Failed, trust.Why}
	case len(v.Source.Facts.Anchors) == 0 || len(v.Target.Facts.Anchors) == 0:
		return Verdict{Trusted, Unknown, v.anchorsUnknown()}
	}
	return Verdict{Trusted, Passed, trust.Why}
}

func (v Link) works() Verdict {
	switch {
	case v.Link.Spec.Credentials.Preflight == api.Skip:
		return Verdict{Stage: CredentialVerified, Result: NotApplicable}
	case v.Verification == nil:
		return Verdict{CredentialVerified, Unknown, v.whyNotVerified()}
	case v.Verification.Why != nil:
		return Verdict{CredentialVerified, Failed, object.Because(v.Verification.Why.Code, "%s", v.Fails(v.Verification).Message)}
	}
	return Verdict{Stage: CredentialVerified, Result: Passed}
}

// whyNotVerified is why no verification of the credential is known.
func (v Link) whyNotVerified() *object.Reason {
	switch {
	case v.Suspended:
		return object.Because(reason.CredentialNotVerified, "linkwright does not verify the credential while the link or one of its clusters is suspended")
	case !v.Target.Known():
		return notRead(v.Link.Target.Name, v.Target.Err)
	case !v.Source.Known():
		return notRead(v.Link.Source.Name, v.Source.Err)
	}
	return object.Because(reason.CredentialNotVerified, "linkwright has not verified the credential")
}

func (v Link) written() Verdict {
	if !v.Source.Known() {
		return Verdict{CredentialsWritten, Unknown, notRead(v.Link.Source.Name, v.Source.Err)}
	}
	for _, k := range v.Secrets() {
		if why := v.Source.Live.Hides(k); why != nil {
			return Verdict{CredentialsWritten, Unknown, why}
		}
		if r := v.Source.Live.Record(k); r.IsZero() || r.Terminating {
			return Verdict{CredentialsWritten, Failed, object.Because(reason.CredentialsNotWritten, "%s does not exist yet", k)}
		}
	}
	return Verdict{Stage: CredentialsWritten, Result: Passed}
}

func (v Link) loaded() Verdict {
	if v.Loading == (Verdict{}) {
		return Verdict{Stage: CredentialsLoaded, Result: NotApplicable}
	}
	return v.Loading
}

func (v Link) leads() Verdict {
	at, target, observed := v.Link.Source.Spec.Linkerd, v.Link.Target.Name, v.Source.Live
	lease := linkerd.LeaseKey(at, target)
	if !v.Source.Known() {
		return Verdict{ControllerLeads, Unknown, notRead(v.Link.Source.Name, v.Source.Err)}
	}
	if v.Link.Spec.Controller.Mode != api.External {
		controller := object.Key{Group: "apps", Kind: "Deployment", Namespace: at.MulticlusterNamespace, Name: v.controller()}
		switch r := observed.Record(controller); {
		case observed.Hides(controller) != nil:
			return Verdict{ControllerLeads, Unknown, observed.Hides(controller)}
		case r.IsZero():
			return Verdict{ControllerLeads, Failed, object.Because(reason.ControllerMissing, "%s is missing", controller)}
		case !r.Health.IsZero():
			return Verdict{ControllerLeads, Failed, object.Because(reason.ControllerNotReady, "%s: %s", controller, r.Health)}
		}
	}
	switch r := observed.Record(lease); {
	case observed.Hides(lease) != nil:
		return Verdict{ControllerLeads, Unknown, observed.Hides(lease)}
	case r.IsZero():
		return Verdict{ControllerLeads, Failed, object.Because(reason.ControllerNotLeading, "no controller has taken Lease %s yet: %s", lease.Name, v.seeLog())}
	case r.Health.Cause() == object.NoHolder:
		return Verdict{ControllerLeads, Failed, object.Because(reason.ControllerNotLeading, "no controller holds Lease %s: %s", lease.Name, v.seeLog())}
	}
	return Verdict{Stage: ControllerLeads, Result: Passed}
}

// controller is the name of the Deployment that linkwright renders for the link.
func (v Link) controller() string {
	if v.Link.Spec.Controller.Mode == api.Shared {
		return linkerd.Shared(v.Owner)
	}
	return linkerd.Controller(v.Link.Target.Name)
}

// seeLog says how to see the log of the link's controller.
func (v Link) seeLog() string {
	ns := v.Link.Source.Spec.Linkerd.MulticlusterNamespace
	if v.Link.Spec.Controller.Mode == api.External {
		return fmt.Sprintf("in cluster %s, see the log of the controller that your Helm chart runs in %s", v.Link.Source.Name, ns)
	}
	return fmt.Sprintf("in cluster %s, run kubectl -n %s logs deployment/%s", v.Link.Source.Name, ns, v.controller())
}

func (v Link) gateway(p linkerd.GatewayHealth) Verdict {
	switch {
	case !v.Source.Known():
		return Verdict{Gateway, Unknown, notRead(v.Link.Source.Name, v.Source.Err)}
	case v.Target.Known() && v.Target.Facts.Gateway.Disabled:
		return Verdict{Stage: Gateway, Result: NotApplicable}
	case v.mirrorsHidden() != nil:
		return Verdict{Gateway, Unknown, v.mirrorsHidden()}
	case p.Unreachable():
		return Verdict{Gateway, Failed, object.Because(reason.GatewayNotAlive,
			"the controller in %s gets no answer from the gateway of %s: check that pods there reach %s, and that both share a trust anchor; no address of its %s is ready: %s",
			v.Link.Source.Name, v.Link.Target.Name, strings.Join(v.Target.Facts.Gateway.Addresses, ", "), object.Count(len(p.NotReady), "mirror"), named(p.NotReady))}
	case p.Serving == 0:
		return Verdict{Gateway, Unknown, object.Because(reason.NoMirrors, "no mirror has an address, so nothing shows whether the gateway is alive")}
	}
	return Verdict{Stage: Gateway, Result: Passed}
}

func (v Link) serving(p linkerd.GatewayHealth) Verdict {
	switch {
	case !v.Source.Known():
		return Verdict{Serving, Unknown, notRead(v.Link.Source.Name, v.Source.Err)}
	case v.mirrorsHidden() != nil:
		return Verdict{Serving, Unknown, v.mirrorsHidden()}
	case len(p.Empty) > 0:
		return Verdict{Serving, Failed, object.Because(reason.MirrorsWithoutEndpoints, "%s without any endpoint: check the pods of these Services in cluster %s; %s",
			object.Count(len(p.Empty), "mirror"), v.Link.Target.Name, named(p.Empty))}
	case p.Serving+len(p.NotReady) == 0:
		return Verdict{Stage: Serving, Result: NotApplicable}
	}
	return Verdict{Stage: Serving, Result: Passed}
}

// mirrorsHidden returns a reason if mirrors may not be read in the source; else nil.
func (v Link) mirrorsHidden() *object.Reason {
	return v.Source.Live.HidesAny(linkerd.MirrorWatches(v.Link.Source.Spec.Linkerd)[:2]...)
}

// named returns the first of them.
func named(keys []object.Key) string {
	var out []string
	for _, k := range keys[:min(len(keys), maxMirrors)] {
		out = append(out, k.Namespace+"/"+k.Name)
	}
	if len(keys) > maxMirrors {
		out = append(out, "and more")
	}
	return strings.Join(out, ", ")
}
