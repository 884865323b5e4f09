package health

import (
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/credential"
	"github.com/linkwright/linkwright/sync/state"
)

// healthy returns a link of which every stage passes.
func healthy() (Link, linkerd.GatewayHealth) {
	spec := api.Cluster{}.WithDefaults()
	v := Link{Pair: credential.Pair{View: state.View{Source: state.Cluster{Reading: state.Read}, Target: state.Cluster{Reading: state.Read}, Verification: &state.Verification{}}}}
	v.Link.Source, v.Link.Target = &fleet.Cluster{Name: "west", Spec: spec}, &fleet.Cluster{Name: "east", Spec: spec}
	v.Link.Spec = &api.LinkSpec{TrustAnchors: api.Warn}
	v.Link.Spec.Controller.Mode = api.PerLink
	anchors := []linkerd.Anchor{{Fingerprint: strings.Repeat("a", 64), Expires: time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC)}}
	v.Source.Facts.Anchors, v.Target.Facts.Anchors = anchors, anchors
	for _, k := range append(credential.Secrets(v.Link), controllerOf(v), leaseOf(v)) {
		seen(&v, k, object.Record{UID: "u", Mark: object.Ours})
	}
	return v, linkerd.GatewayHealth{Serving: 1}
}

func controllerOf(Link) object.Key {
	return object.Key{Group: "apps", Kind: "Deployment", Namespace: "linkerd-multicluster", Name: "controller-east"}
}

// share has the link share a controller instead of its own, and returns that.
func (v *Link) share() object.Key {
	own := controllerOf(*v)
	lost(v, own)
	v.Link.Spec.Controller.Mode, v.Owner, own.Name = api.Shared, "linkwright", "linkwright-mirror"
	return own
}

func leaseOf(Link) object.Key {
	return object.Key{Group: "coordination.k8s.io", Kind: "Lease", Namespace: "linkerd-multicluster", Name: "service-mirror-write-east"}
}

func seen(v *Link, k object.Key, r object.Record) {
	edit := v.Source.Live.Edit()
	edit.Put(k, r, object.Body{})
	v.Source.Live = edit.Observation()
}

func lost(v *Link, k object.Key) {
	edit := v.Source.Live.Edit()
	edit.Drop(k)
	v.Source.Live = edit.Observation()
}

// Each stage fails alone, by what it is read from, and is the first that failed then.
func TestHealth(t *testing.T) {
	why := object.Because("Because", "of that")
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		with func(v *Link, p *linkerd.GatewayHealth) (blocked *object.Reason)
		at   Stage
		is   Result
		code string
	}{
		"all is well": {nil, Serving, Passed, ""},
		"held":        {func(*Link, *linkerd.GatewayHealth) *object.Reason { return why }, EndRenders, Failed, "Because"},
		"held for the target": {func(v *Link, _ *linkerd.GatewayHealth) *object.Reason {
			v.Target.Reading, v.Target.Err = state.Unread, why
			return why
		}, EndRenders, Unknown, "Because"},
		"target down": {func(v *Link, _ *linkerd.GatewayHealth) *object.Reason {
			v.Target.Reading, v.Target.Err = state.Unread, why
			return why
		}, Reachable, Failed, "Because"},
		"target not read yet": {func(v *Link, _ *linkerd.GatewayHealth) *object.Reason { v.Target.Reading = state.Unread; return nil }, Reachable, Unknown, "NotRead"},
		"no anchor in common": {func(v *Link, _ *linkerd.GatewayHealth) *object.Reason {
			v.Target.Facts.Anchors = []linkerd.Anchor{{Fingerprint: strings.Repeat("b", 64)}}
			return nil
		}, Trusted, Failed, string(reason.TrustAnchorsNotShared)},
		"anchors half rotated": {func(v *Link, _ *linkerd.GatewayHealth) *object.Reason {
			v.Target.Facts.Anchors = append([]linkerd.Anchor{{Fingerprint: strings.Repeat("b", 64)}}, v.Source.Facts.Anchors...)
			return nil
		}, Trusted, Passed, string(reason.TrustAnchorsDiffer)},
		"anchors unknown": {func(v *Link, _ *linkerd.GatewayHealth) *object.Reason { v.Target.Facts.Anchors = nil; return nil }, Trusted, Unknown, "Unknown"},
		"anchors do not count": {func(v *Link, _ *linkerd.GatewayHealth) *object.Reason {
			v.Link.Spec.TrustAnchors = api.Skip
			return nil
		}, Trusted, NotApplicable, ""},
		"refused":   {func(v *Link, _ *linkerd.GatewayHealth) *object.Reason { v.Verification.Why = why; return nil }, CredentialVerified, Failed, "Because"},
		"not tried": {func(v *Link, _ *linkerd.GatewayHealth) *object.Reason { v.Verification = nil; return nil }, CredentialVerified, Unknown, "CredentialNotVerified"},
		"trials do not count": {func(v *Link, _ *linkerd.GatewayHealth) *object.Reason {
			v.Verification, v.Link.Spec.Credentials.Preflight = nil, api.Skip
			return nil
		}, CredentialVerified, NotApplicable, ""},
		"no credential": {func(v *Link, _ *linkerd.GatewayHealth) *object.Reason {
			lost(v, credential.Secrets(v.Link)[0])
			return nil
		}, CredentialsWritten, Failed, string(reason.CredentialsNotWritten)},
		"credential going": {func(v *Link, _ *linkerd.GatewayHealth) *object.Reason {
			seen(v, credential.Secrets(v.Link)[0], object.Record{UID: "u", Terminating: true})
			return nil
		}, CredentialsWritten, Failed, string(reason.CredentialsNotWritten)},
		"no controller": {func(v *Link, _ *linkerd.GatewayHealth) *object.Reason { lost(v, controllerOf(*v)); return nil }, ControllerLeads, Failed, string(reason.ControllerMissing)},
		"controller not ready": {func(v *Link, _ *linkerd.GatewayHealth) *object.Reason {
			seen(v, controllerOf(*v), object.Record{UID: "u", Health: object.HealthOf("Deployment", []byte(`{"metadata":{"generation":1}}`))})
			return nil
		}, ControllerLeads, Failed, string(reason.ControllerNotReady)},
		"no controller of ours": {func(v *Link, _ *linkerd.GatewayHealth) *object.Reason {
			lost(v, controllerOf(*v))
			v.Link.Spec.Controller.Mode = api.External
			return nil
		}, ControllerLeads, Passed, ""},
		"no shared controller": {func(v *Link, _ *linkerd.GatewayHealth) *object.Reason { v.share(); return nil }, ControllerLeads, Failed, string(reason.ControllerMissing)},
		"shared controller not ready": {func(v *Link, _ *linkerd.GatewayHealth) *object.Reason {
			seen(v, v.share(), object.Record{UID: "u", Health: object.HealthOf("Deployment", []byte(`{"metadata":{"generation":1}}`))})
			return nil
		}, ControllerLeads, Failed, string(reason.ControllerNotReady)},
		"shared controller without the lease": {func(v *Link, _ *linkerd.GatewayHealth) *object.Reason {
			seen(v, v.share(), object.Record{UID: "u"})
			lost(v, leaseOf(*v))
			return nil
		}, ControllerLeads, Failed, string(reason.ControllerNotLeading)},
		"shared controller leads": {func(v *Link, _ *linkerd.GatewayHealth) *object.Reason {
			seen(v, v.share(), object.Record{UID: "u"})
			return nil
		}, ControllerLeads, Passed, ""},
		"no lease": {func(v *Link, _ *linkerd.GatewayHealth) *object.Reason { lost(v, leaseOf(*v)); return nil }, ControllerLeads, Failed, string(reason.ControllerNotLeading)},
		"nobody holds the lease": {func(v *Link, _ *linkerd.GatewayHealth) *object.Reason {
			seen(v, leaseOf(*v), object.Record{UID: "u", Health: object.HealthOf("Lease", []byte(`{}`))})
			return nil
		}, ControllerLeads, Failed, string(reason.ControllerNotLeading)},
		"gateway dead": {func(_ *Link, p *linkerd.GatewayHealth) *object.Reason {
			*p = linkerd.GatewayHealth{NotReady: []object.Key{leaseOf(Link{})}}
			return nil
		}, Gateway, Failed, string(reason.GatewayNotAlive)},
		"no gateway": {func(v *Link, p *linkerd.GatewayHealth) *object.Reason {
			v.Target.Facts.Gateway.Disabled = true
			*p = linkerd.GatewayHealth{}
			return nil
		}, Gateway, NotApplicable, ""},
		"nothing mirrored":        {func(_ *Link, p *linkerd.GatewayHealth) *object.Reason { *p = linkerd.GatewayHealth{}; return nil }, Gateway, Unknown, "NoMirrors"},
		"nothing mirrored at all": {func(_ *Link, p *linkerd.GatewayHealth) *object.Reason { *p = linkerd.GatewayHealth{}; return nil }, Serving, NotApplicable, ""},
		"nobody behind a mirror": {func(_ *Link, p *linkerd.GatewayHealth) *object.Reason {
			p.Empty = []object.Key{leaseOf(Link{})}
			return nil
		}, Serving, Failed, string(reason.MirrorsWithoutEndpoints)},
	} {
		v, pulse := healthy()
		var blocked *object.Reason
		if tt.with != nil {
			blocked = tt.with(&v, &pulse)
		}
		all := v.Health(blocked, pulse, now)
		for _, got := range all {
			if got.Stage != tt.at {
				continue
			}
			code := ""
			if got.Why != nil {
				code = string(got.Why.Code)
			}
			if got.Result != tt.is || code != tt.code {
				t.Errorf("%s: %s is %s %s, want %s %s", name, got.Stage, got.Result, code, tt.is, tt.code)
			}
			explained(t, name, got)
		}
		if first, failed := First(all); failed != (tt.is == Failed || name == "held for the target") || tt.is == Failed && first.Stage != tt.at {
			t.Errorf("%s: the first that failed is %s, %v", name, first.Stage, failed)
		}
	}
}

// explained: a failed stage says that it does not make a link unready, if it does not.
func explained(t *testing.T, name string, v Verdict) {
	t.Helper()
	_, counts := readinessStages()[v.Stage]
	if says := v.Why != nil && strings.Contains(v.Why.Message, "this alone does not make the link unready"); says != (v.Result == Failed && !counts) {
		t.Errorf("%s: %s is %s, and says %q", name, v.Stage, v.Result, v.Why)
	}
}

// A credential that is not verified has the reason that prevents it, if there is one.
func TestWhyNotVerified(t *testing.T) {
	timeout := object.Because(reason.Timeout, "no answer")
	for want, with := range map[string]func(v *Link){
		"linkwright has not verified the credential":                                                   func(*Link) {},
		"linkwright does not verify the credential while the link or one of its clusters is suspended": func(v *Link) { v.Suspended = true },
		"cluster east could not be read (Timeout)":                                                     func(v *Link) { v.Target.Reading, v.Target.Err = state.Unread, timeout },
		"cluster west could not be read (Timeout)":                                                     func(v *Link) { v.Source.Reading, v.Source.Err = state.Unread, timeout },
		"linkwright has not read cluster east yet":                                                     func(v *Link) { v.Target.Reading = state.Unread },
	} {
		v, _ := healthy()
		v.Verification = nil
		with(&v)
		if got := v.works(); got.Result != Unknown || got.Why.Message != want {
			t.Errorf("%+v, want %q", got, want)
		}
	}
}
