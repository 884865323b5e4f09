package health

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/credential"
	"github.com/linkwright/linkwright/sync/state"
)

// is returns the conditions of what is reported in one word each: Ready's status and reason, and what else is True.
func is(all []object.Condition) string {
	out := ""
	for _, c := range all {
		out += c.Type + "=" + c.Status + " " + string(c.Reason) + "; "
	}
	return out
}

const (
	ready    = "Ready=True Healthy; "
	settling = "Ready=False Progressing; Reconciling=True Progressing; "
)

func stalled(reason string) string {
	return "Ready=False " + reason + "; Stalled=True " + reason + "; "
}

func TestConditions(t *testing.T) {
	why := object.Because("Because", "of that: it said eyJhbGciOi")
	now := time.Date(2026, 11, 22, 10, 0, 0, 700, time.UTC)
	dead := func(_ *Link, p *linkerd.GatewayHealth) {
		*p = linkerd.GatewayHealth{NotReady: []object.Key{leaseOf(Link{})}}
	}
	leaderless := func(v *Link, _ *linkerd.GatewayHealth) { lost(v, leaseOf(*v)) }
	untouched := func(*Link, *linkerd.GatewayHealth) {}
	denied := func(v *Link, _ *linkerd.GatewayHealth) { v.Verification.Why = why }
	untried := func(v *Link, _ *linkerd.GatewayHealth) { v.Verification = nil }
	was := func(age time.Duration, with func(*Link, *linkerd.GatewayHealth)) []object.Condition {
		v, p := healthy()
		with(&v, &p)
		out, _ := Conditions(nil, v.Health(nil, p, now), now.Add(-age))
		return out
	}
	for name, tt := range map[string]struct {
		was  []object.Condition
		with func(*Link, *linkerd.GatewayHealth)
		held *object.Reason
		want string
		due  time.Duration
	}{
		"all holds":                      {with: untouched, want: ready},
		"nobody tried the credential":    {with: untried, want: ready},
		"no mirror tells of the gateway": {with: func(_ *Link, p *linkerd.GatewayHealth) { *p = linkerd.GatewayHealth{} }, want: ready},
		"no gateway": {with: func(v *Link, p *linkerd.GatewayHealth) {
			v.Target.Facts.Gateway.Disabled, *p = true, linkerd.GatewayHealth{}
		}, want: ready},
		"nobody shows anchors":          {with: func(v *Link, _ *linkerd.GatewayHealth) { v.Target.Facts.Anchors = nil }, want: ready},
		"nobody serves behind a mirror": {with: func(_ *Link, p *linkerd.GatewayHealth) { p.Empty = []object.Key{leaseOf(Link{})} }, want: ready},
		"trials do not count": {with: func(v *Link, _ *linkerd.GatewayHealth) {
			v.Verification, v.Link.Spec.Credentials.Preflight = nil, api.Skip
		}, want: ready},
		"access fails":                 {with: denied, want: stalled(string(reason.CredentialNotAccepted))},
		"it failed, and was not tried": {was: was(time.Hour, denied), with: untried, want: stalled(string(reason.CredentialNotAccepted))},
		"it failed, and works":         {was: was(time.Hour, denied), with: untouched, want: ready},
		"it failed, and something before": {was: was(time.Hour, denied), with: func(v *Link, _ *linkerd.GatewayHealth) {
			v.Verification, v.Target.Reading, v.Target.Err = nil, state.Unread, why
		}, want: stalled(string(reason.TargetNotRead))},
		"it failed, and something behind": {was: was(time.Hour, denied), with: func(v *Link, _ *linkerd.GatewayHealth) { v.Verification = nil; lost(v, leaseOf(*v)) }, want: stalled(string(reason.CredentialNotAccepted))},
		"target down":                     {with: func(v *Link, _ *linkerd.GatewayHealth) { v.Target.Reading, v.Target.Err = state.Unread, why }, held: why, want: stalled(string(reason.TargetNotRead))},
		"target not read yet":             {with: func(v *Link, _ *linkerd.GatewayHealth) { v.Target.Reading = state.Unread }, held: why, want: "Ready=Unknown EndNotRead; "},
		"source not read":                 {with: func(v *Link, _ *linkerd.GatewayHealth) { v.Source.Reading = state.Unread }, want: "Ready=Unknown EndNotRead; "},
		"no anchor in common": {with: func(v *Link, _ *linkerd.GatewayHealth) {
			v.Target.Facts.Anchors = []linkerd.Anchor{{Fingerprint: strings.Repeat("b", 64)}}
		}, want: stalled(string(reason.TrustAnchorsNotShared))},
		"cannot be rendered":           {with: untouched, held: why, want: stalled(string(reason.NotRendered))},
		"no token yet":                 {with: untouched, held: object.Because(reason.CredentialNotIssued, ""), want: settling, due: RecoveryTime},
		"it is to be verified first":   {with: untouched, held: object.Because(reason.CredentialNotVerified, ""), want: settling, due: RecoveryTime},
		"credentials are not written":  {with: func(v *Link, _ *linkerd.GatewayHealth) { lost(v, credential.Secrets(v.Link)[0]) }, want: settling, due: RecoveryTime},
		"no controller":                {with: func(v *Link, _ *linkerd.GatewayHealth) { lost(v, controllerOf(*v)) }, want: settling, due: RecoveryTime},
		"no controller for too long":   {was: was(RecoveryTime, leaderless), with: func(v *Link, _ *linkerd.GatewayHealth) { lost(v, controllerOf(*v)); leaderless(v, nil) }, want: stalled(string(reason.ControllerMissing))},
		"no leader":                    {with: leaderless, want: settling, due: RecoveryTime},
		"no leader for a while":        {was: was(time.Minute, leaderless), with: leaderless, want: settling, due: RecoveryTime - time.Minute},
		"no leader for too long":       {was: was(RecoveryTime, leaderless), with: leaderless, want: stalled(string(reason.ControllerNotLeading))},
		"no leader, and there was one": {was: was(RecoveryTime, untouched), with: leaderless, want: settling, due: RecoveryTime},
		"stalled, and something else":  {was: was(RecoveryTime, dead), with: leaderless, want: stalled(string(reason.ControllerNotLeading))},
		"set up, and then dead":        {was: was(RecoveryTime, untouched), with: dead, want: stalled(string(reason.GatewayNotAlive))},
		"dead while it is set up":      {was: was(time.Minute, leaderless), with: dead, want: settling, due: RecoveryTime - time.Minute},
		"dead from the first on":       {was: Initial(now.Add(-RecoveryTime)), with: dead, want: stalled(string(reason.GatewayNotAlive))},
		"set up":                       {was: Initial(now), with: untouched, want: ready},
	} {
		v, pulse := healthy()
		tt.with(&v, &pulse)
		got, due := Conditions(tt.was, v.Health(tt.held, pulse, now), now)
		want := time.Time{}
		if tt.due > 0 {
			want = now.Truncate(time.Second).Add(tt.due)
		}
		if is(got) != tt.want || !due.Truncate(time.Second).Equal(want) {
			t.Errorf("%s: %s due %s, want %s due %s", name, is(got), due, tt.want, want)
		}
		for _, c := range got {
			if c.Status == object.False && (c.Message == "" || len(c.Message) > 100) {
				t.Errorf("%s: says %q", name, c.Message)
			}
		}
		if again, _ := Conditions(got, v.Health(tt.held, pulse, now), now.Add(time.Second)); !cmp.Equal(got, again) {
			t.Errorf("%s: told anew a second later: %s", name, cmp.Diff(got, again))
		}
	}
}

// A denial names the objects that a guard names, also once they are others, and nothing else.
func TestDenial(t *testing.T) {
	begun := time.Unix(1000, 0).UTC()
	was := Denial(nil, *object.Because(reason.PruneDisabled, "Secret a/b: remove the annotation"), begun)
	got := Denial(was, *object.Because(reason.PruneDisabled, "Secret a/c and 2 more: remove the annotation"), begun.Add(time.Minute))
	if c := Condition(got, object.Ready); c.Message != "PruneDisabled: Secret a/c and 2 more: remove the annotation" || !c.Since.Equal(begun) {
		t.Errorf("Ready: %+v", c)
	}
	if c := Condition(Denial(nil, *object.Because(reason.PruneLimitExceeded, "3 links"), begun), object.Ready); c.Message != "PruneLimitExceeded" {
		t.Errorf("the record has what a limit denies, and the condition says %q", c.Message)
	}
}

// What a condition tells is no server's: it could quote a secret.
func TestConditionsQuoteNobody(t *testing.T) {
	all := []Verdict{{CredentialVerified, Failed, object.Because("Refused", "the server said eyJhbGciOi")}}
	got, _ := Conditions(nil, all, time.Unix(0, 0))
	if c := Condition(got, object.Ready); c.Message != "access does not work: Refused" {
		t.Errorf("says %q", c.Message)
	}
}
