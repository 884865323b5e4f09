package credential

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

const day = 24 * time.Hour

var start = time.Unix(1_800_000_000, 0)

// issued returns a token of 30 days, of the account, bound to its n-th Secret, whose uids are account and secret-<n>.
func issued(n int, at time.Time) object.Secret { return granted(n, at, 30*day) }

func granted(n int, at time.Time, life time.Duration) object.Secret {
	payload := fmt.Sprintf(`{"iat":%d,"exp":%d,"kubernetes.io":{"namespace":"linkwright-access",`+
		`"serviceaccount":{"name":"linkwright.west","uid":"account"},"secret":{"name":"linkwright.west-%d","uid":"secret-%d"}}}`,
		at.Unix(), at.Add(life).Unix(), n, n)
	return object.NewSecret([]byte("e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".c2ln"))
}

// rotating returns a link of mode Bound whose target has generations, and whose source's Secret carries a token.
func rotating(t *testing.T, carried object.Secret, generations ...int) Pair {
	t.Helper()
	v := linkedBy(t)
	v.Link.Spec.Credentials = api.Credentials{Mode: api.Bound}
	v.Link.Spec.RemoteDiscoverySelector = nil
	if !carried.IsZero() {
		mirror := Secrets(v.Link)[0]
		v.put(t, mirror, kubeconfig(string(carried.Bytes())))
		record(&v.Source.Live, mirror, object.Record{UID: "u", Mark: object.Ours})
	}
	record(&v.Target.Live, toEast.Account, object.Record{UID: "account", Mark: object.Ours})
	for _, n := range generations {
		record(&v.Target.Live, generationKey(toEast.Account, n), object.Record{UID: "secret-" + strconv.Itoa(n), Mark: object.Ours})
	}
	return v
}

// access is toEast with what is live.
func (v Pair) access() Access {
	a := toEast
	a.Issued = issuedIn(v.Target, a.Account)
	return a
}

func TestRotate(t *testing.T) {
	legacy := func(v *Pair) { record(&v.Target.Live, tokenKey, object.Record{UID: "t", Mark: object.Ours}) }
	nothing := func(*Pair) {}
	none := object.Secret{}
	tests := []struct {
		name        string
		carried     object.Secret
		generations []int
		fresh       object.Secret
		now         time.Duration // since start
		change      func(*Pair)
		want        string // generation in use, kept, asked for, due
	}{
		{"nothing yet", none, nil, none, 0, nothing, "use - keep 1 need - due"},
		{"its Secret is there", none, []int{1}, none, 0, nothing, "use - keep 1 need 1 due"},
		{"granted, not in place", none, []int{1}, issued(1, start), 0, nothing, "use 1 keep 1 need -"},
		{"in place", issued(1, start), []int{1}, none, 0, nothing, "use 1 keep 1 need -"},
		{"a second before two thirds", issued(1, start), []int{1}, none, 20*day - time.Second, nothing, "use 1 keep 1 need -"},
		{"two thirds", issued(1, start), []int{1}, none, 20 * day, nothing, "use 1 keep 1,2 need - due"},
		{"the next one's Secret is there", issued(1, start), []int{1, 2}, none, 20 * day, nothing, "use 1 keep 1,2 need 2 due"},
		{"the next one is granted", issued(1, start), []int{1, 2}, issued(2, start.Add(20*day)), 20 * day, nothing, "use 2 keep 1,2 need -"},
		{"the one before overlaps", issued(2, start), []int{1, 2}, none, 0, nothing, "use 2 keep 1,2 need -"},
		{"until the one after is in place", issued(2, start), []int{1, 2, 3}, issued(3, start.Add(20*day)), 20 * day, nothing, "use 3 keep 1,2,3 need -"},
		{"and then goes", issued(3, start), []int{1, 2, 3}, none, 0, nothing, "use 3 keep 2,3 need -"},
		{"expired", issued(1, start), []int{1}, none, 30 * day, nothing, "use - keep 1,2 need - due"},
		{"revoked", issued(2, start), []int{1}, none, 0, nothing, "use - keep 1,3 need - due"},
		{"the ttl was lowered", issued(1, start), []int{1, 2}, none, 2 * day, func(v *Pair) { v.Link.Spec.Credentials.TTL = "72h" }, "use 1 keep 1,2 need 2 due"},
		{"the ttl was raised", issued(1, start), []int{1, 2}, none, 2 * day, func(v *Pair) { v.Link.Spec.Credentials.TTL = "1440h" }, "use 1 keep 1 need -"},
		{"issued in the future", issued(1, start.Add(day)), []int{1}, none, 0, nothing, "use 1 keep 1 need -"},
		{"numbers go past the other mode's", none, nil, none, 0, legacy, "use - keep 2,token need - due"},
		{"with the other mode's token", none, []int{2}, none, 0, legacy, "use - keep 2,token need 2 due"},
		{"issued by a clock that was ahead", issued(1, start.Add(time.Hour)), []int{1, 2}, issued(2, start), 0, nothing, "use 2 keep 1,2 need -"},
		{"the other mode's token is generation zero", issued(1, start), []int{1}, none, 0, legacy, "use 1 keep 1,token need -"},
		{"which goes after the second", issued(2, start), []int{1, 2}, none, 0, legacy, "use 2 keep 1,2 need -"},
		{"while it is carried", object.NewSecret([]byte("legacy")), []int{1, 2}, none, 0, legacy, "use - keep 1,2,token need 2 due"},
		{"account is going", none, []int{1}, none, 0, func(v *Pair) {
			record(&v.Target.Live, toEast.Account, object.Record{UID: "account", Mark: object.Ours, Terminating: true})
		}, "use - keep 1 need - due"},
		{"source not read", issued(3, start), []int{1, 2, 3}, none, 25 * day, func(v *Pair) { v.Source = state.Cluster{} }, "use - keep 1,2,3 need - due"},
		{"Secret not read", issued(3, start), []int{1, 2, 3}, none, 25 * day, func(v *Pair) { show(&v.Source.Live, Secrets(v.Link)[0], object.Body{}) }, "use - keep 1,2,3 need - due"},
		{"Secret is somebody else's", issued(3, start), []int{3}, none, 0, func(v *Pair) {
			record(&v.Source.Live, Secrets(v.Link)[0], object.Record{UID: "u"})
		}, "use - keep 3 need 3 due"},
	}
	for _, tt := range tests {
		v := rotating(t, tt.carried, tt.generations...)
		tt.change(&v)
		if got := wordsOf(v.Rotate(v.access(), tt.fresh, start.Add(tt.now))); got != tt.want {
			t.Errorf("%s: Rotate: -want +got\n%s", tt.name, cmp.Diff(tt.want, got))
		}
	}
}

// Another token is asked for, and what was before may be to go as soon as the source uses that.
func TestRotateAsAsked(t *testing.T) {
	taken := func(token object.Secret) func(*Pair, *Access) { return func(v *Pair, _ *Access) { v.announce(token) } }
	tests := []struct {
		name        string
		carried     object.Secret
		generations []int
		fresh       object.Secret
		asked       RotationRequest
		change      func(*Pair, *Access)
		want        string
	}{
		{"asked for", issued(1, start), []int{1}, object.Secret{}, RotationRequest{After: 1}, nil, "use 1 keep 1,2 need - due"},
		{"past one that nobody used", issued(1, start), []int{1, 2}, object.Secret{}, RotationRequest{After: 2}, nil, "use 1 keep 1,2,3 need - due"},
		{"its Secret is there", issued(1, start), []int{1, 2}, object.Secret{}, RotationRequest{After: 1}, nil, "use 1 keep 1,2 need 2 due"},
		{"granted", issued(1, start), []int{1, 2}, issued(2, start.Add(time.Second)), RotationRequest{After: 1, Revoke: true}, taken(issued(1, start)), "use 2 keep 1,2 need -"},
		{"in place, not announced", issued(2, start), []int{1, 2}, object.Secret{}, RotationRequest{After: 1, Revoke: true}, nil, "use 2 keep 1,2 need -"},
		{"in place", issued(2, start), []int{1, 2}, object.Secret{}, RotationRequest{After: 1}, taken(issued(2, start)), "use 2 keep 1,2 need - met"},
		{"to revoke", issued(2, start), []int{1, 2}, object.Secret{}, RotationRequest{After: 1, Revoke: true}, taken(issued(2, start)), "use 2 keep 2 need -"},
		{"revoked", issued(2, start), []int{2}, object.Secret{}, RotationRequest{After: 1, Revoke: true}, taken(issued(2, start)), "use 2 keep 2 need - met"},
		{"to revoke, and not told", issued(2, start), []int{1, 2}, object.Secret{}, RotationRequest{After: 1, Revoke: true}, func(v *Pair, a *Access) {
			a.AwaitsRestart = true
			v.announce(issued(2, start))
		}, "use 2 keep 1,2 need -"},
		{"past one that nobody used, and not told", issued(3, start), []int{1, 2, 3}, object.Secret{}, RotationRequest{After: 2}, func(v *Pair, a *Access) {
			a.AwaitsRestart = true
			v.announce(issued(3, start))
		}, "use 3 keep 1,2,3 need -"},
		{"the other mode's token, and not told", issued(3, start), []int{2, 3}, object.Secret{}, RotationRequest{After: 2}, func(v *Pair, a *Access) {
			a.Tokens, a.AwaitsRestart = []int{1}, true
			v.announce(issued(3, start))
		}, "use 3 keep 2,3,token need -"},
		{"to revoke, and not tried", issued(2, start), []int{1, 2}, object.Secret{}, RotationRequest{After: 1, Revoke: true}, func(v *Pair, _ *Access) {
			v.Link.Spec.Credentials.Preflight = api.Require
			v.announce(issued(2, start))
		}, "use 2 keep 1,2 need -"},
	}
	for _, tt := range tests {
		v := rotating(t, tt.carried, tt.generations...)
		v.Link.Spec.Credentials.Preflight = api.Skip
		a := v.access()
		a.Requested = &tt.asked
		if tt.change != nil {
			tt.change(&v, &a)
		}
		if got := wordsOf(v.Rotate(a, tt.fresh, start)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	v := rotating(t, issued(1, start), 1)
	v.Link.Spec.Credentials.Preflight = api.Skip
	record(&v.Target.Live, tokenKey, object.Record{UID: "t", Mark: object.Ours})
	v.announce(issued(1, start))
	a := v.access()
	a.Requested = &RotationRequest{Revoke: true}
	if got := wordsOf(v.Rotate(a, object.Secret{}, start)); got != "use 1 keep 1 need -" {
		t.Errorf("the other mode's token is to be revoked: %s", got)
	}
}

func wordsOf(r Rotation) string {
	use, need := "-", "-"
	if r.Use != nil {
		c, _ := claimsOf(r.Use.Token)
		use = strings.TrimPrefix(c.Secret.Name, "linkwright.west-")
	}
	var keep []string
	for _, k := range r.Keep {
		keep = append(keep, strings.TrimPrefix(k.Name, "linkwright.west-"))
	}
	for _, k := range r.Tokens {
		keep = append(keep, strings.TrimPrefix(k.Name, "linkwright.west-"))
	}
	if r.Need != nil {
		need = strings.TrimPrefix(r.Need.Secret.Name, "linkwright.west-")
	}
	out := fmt.Sprintf("use %s keep %s need %s", use, strings.Join(keep, ","), need)
	if r.Renewal.IsZero() {
		out += " due"
	}
	if r.Done {
		out += " met"
	}
	return out
}

// A grant shorter than asked is reported; too short a one for remote discovery is asked for again once, and not used.
func TestShortGrants(t *testing.T) {
	v := rotating(t, granted(1, start, day), 1, 2)
	r := v.Rotate(v.access(), object.Secret{}, start)
	if r.TooShort(v.Link) != nil || r.Shortened(v.Link) == nil || r.Need != nil {
		t.Errorf("a day: %v, %v, %v", r.TooShort(v.Link), r.Shortened(v.Link), r.Need)
	}
	v = linkedBy(t)
	for k := range v.Source.Live.Records() {
		v.put(t, k, kubeconfig(string(granted(1, start, day).Bytes())))
		record(&v.Source.Live, k, object.Record{UID: "u", Mark: object.Ours})
	}
	v.Link.Spec.Credentials = api.Credentials{Mode: api.Bound, SecretRef: nil}
	mirror := Secrets(v.Link)[0]
	v.put(t, mirror, kubeconfig(string(granted(1, start, day).Bytes())))
	record(&v.Source.Live, mirror, object.Record{UID: "u", Mark: object.Ours})
	target := rotating(t, object.Secret{}, 1, 2).Target
	v.Target.Live = target.Live
	if r := v.Rotate(v.access(), object.Secret{}, start); r.TooShort(v.Link) == nil || r.Need == nil {
		t.Errorf("a day for remote discovery: %v, %v", r.TooShort(v.Link), r.Need)
	}
	if r := v.Rotate(v.access(), granted(2, start.Add(time.Second), day), start); r.TooShort(v.Link) == nil || r.Need != nil {
		t.Errorf("a day again: %v, %v", r.TooShort(v.Link), r.Need)
	}
	if r := v.Rotate(v.access(), issued(2, start.Add(time.Second)), start); r.TooShort(v.Link) != nil || r.Shortened(v.Link) != nil || r.Need != nil {
		t.Errorf("30 days: %v, %v", r.TooShort(v.Link), r.Need)
	}
}

func TestHolds(t *testing.T) {
	v := rotating(t, issued(1, start), 1)
	if !v.SecretsHold(issued(1, start)) || v.SecretsHold(issued(2, start)) || v.SecretsHold(object.Secret{}) {
		t.Error("Holds: not exactly the token that is there")
	}
}

func TestTook(t *testing.T) {
	tests := []struct {
		name, entry string
		now         *linkerd.Credential
		change      func(*Pair)
		want        bool
	}{
		{"carried and announced", "new", &linkerd.Credential{Token: issued(1, start), Fingerprint: "new"}, func(*Pair) {}, true},
		{"not announced", "old", &linkerd.Credential{Token: issued(1, start), Fingerprint: "new"}, func(*Pair) {}, false},
		{"another is carried", "new", &linkerd.Credential{Token: issued(2, start), Fingerprint: "new"}, func(*Pair) {}, false},
		{"there is none", "new", nil, func(*Pair) {}, false},
		{"source not known", "new", &linkerd.Credential{Token: issued(1, start), Fingerprint: "new"}, func(v *Pair) { v.Source.Reading = state.Unread }, false},
		{"a Secret that the link no longer has", "new", &linkerd.Credential{Token: issued(1, start), Fingerprint: "new"}, func(v *Pair) {
			record(&v.Source.Live, linkerd.ControlPlaneSecret(v.Link.Source.Spec.Linkerd, "east"), object.Record{UID: "u", Mark: object.Ours})
		}, false},
	}
	for _, tt := range tests {
		v := rotating(t, issued(1, start), 1)
		announced := `{"spec":{"excludedAnnotations":["` + linkerd.CredentialEntry(tt.entry) + `"]}}`
		show(&v.Source.Live, linkerd.LinkKey(v.Link.Source.Spec.Linkerd, "east"), object.NewBody([]byte(announced)))
		tt.change(&v)
		if got := v.Uses(tt.now); got != tt.want {
			t.Errorf("%s: Took: got %t, want %t", tt.name, got, tt.want)
		}
	}
}

func TestNumberOf(t *testing.T) {
	for name, want := range map[string]int{
		"linkwright.west-1": 1, "linkwright.west-20": 20, "linkwright.west-0": 0, "linkwright.west-01": 0, "linkwright.west--1": 0,
		"linkwright.west-token": 0, "linkwright.west": 0, "linkwright.west-2-1": 0, "linkwright.east-1": 0, "linkwright.west-99999999999999999999": 0,
	} {
		if got := numberOf(toEast.Account, object.Key{Kind: "Secret", Namespace: object.AccessNamespace, Name: name}); got != want {
			t.Errorf("numberOf(%s): got %d, want %d", name, got, want)
		}
	}
	if numberOf(toEast.Account, object.Key{Kind: "Secret", Namespace: "default", Name: "linkwright.west-1"}) != 0 {
		t.Error("numberOf: another namespace")
	}
}

// Whatever stands in a Secret is read without a panic, and only what names a Secret and a life is a bound token.
func FuzzClaims(f *testing.F) {
	for _, text := range []string{"", "a.b.c", "e30.e30.", string(issued(1, start).Bytes())} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := claimsOf(object.NewSecret([]byte(text)))
		if ok && (c.Secret.Name == "" || c.life() <= 0) {
			t.Errorf("claimsOf(%q): %+v", text, c)
		}
	})
}
