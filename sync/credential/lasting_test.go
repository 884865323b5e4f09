package credential

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// lastingTo returns a link of mode LegacyToken whose target has issued these tokens, and has Secrets of others without one; its source carries one
// of them, and announces it.
func lastingTo(t *testing.T, carried int, issued, others []int) Pair {
	t.Helper()
	v := rotating(t, object.NewSecret([]byte(wordOf(carried))))
	v.Link.Spec.Credentials = api.Credentials{Mode: api.LegacyToken, Preflight: api.Skip}
	for _, n := range append(issued, others...) {
		record(&v.Target.Live, tokenSecret(toEast.Account, n), object.Record{UID: "t", Mark: object.Ours})
		show(&v.Target.Live, tokenSecret(toEast.Account, n), object.NewBody([]byte("{}")))
	}
	for _, n := range issued {
		body := fmt.Sprintf(`{"data":{"token":%q}}`, base64.StdEncoding.EncodeToString([]byte(wordOf(n))))
		show(&v.Target.Live, tokenSecret(toEast.Account, n), object.NewBody([]byte(body)))
	}
	v.announce(object.NewSecret([]byte(wordOf(carried))))
	return v
}

func wordOf(n int) string { return fmt.Sprintf("word-%d", n) }

// announce has the source's Linkerd Link tell of a token.
func (v *Pair) announce(token object.Secret) {
	key := linkerd.LinkKey(v.Link.Source.Spec.Linkerd, "east")
	record(&v.Source.Live, key, object.Record{UID: "u", Mark: object.Ours})
	entry := linkerd.CredentialEntry(v.credential(token).Fingerprint)
	show(&v.Source.Live, key, object.NewBody([]byte(`{"spec":{"clusterCredentialsSecret":"x","excludedAnnotations":["`+entry+`"]}}`)))
}

func TestLasting(t *testing.T) {
	none := []int(nil)
	tests := []struct {
		name           string
		carried        int
		issued, others []int
		change         func(*Pair, *Access)
		want           string
	}{
		{"nothing yet", 0, none, none, nil, "use - keep token"},
		{"not issued yet", 0, none, []int{1}, nil, "use - keep token"},
		{"in place", 1, []int{1}, none, nil, "use word-1 keep token"},
		{"another is asked for", 1, []int{1}, none, asking(1, false), "use word-1 keep token,token.2"},
		{"it is not issued yet", 1, []int{1}, []int{2}, asking(1, true), "use word-1 keep token,token.2"},
		{"it is issued", 1, []int{1, 2}, none, asking(1, false), "use word-2 keep token,token.2"},
		{"the source took it", 2, []int{1, 2}, none, asking(1, false), "use word-2 keep token.2 met"},
		{"and the former is to be revoked", 2, []int{1, 2}, none, asking(1, true), "use word-2 keep token.2"},
		{"which is gone", 2, []int{2}, none, asking(1, true), "use word-2 keep token.2 met"},
		{"once it was done", 2, []int{2}, none, nil, "use word-2 keep token.2"},
		{"asked for again", 2, []int{2}, none, asking(2, false), "use word-2 keep token.2,token.3"},
		{"it is lost", 2, none, none, func(_ *Pair, a *Access) { a.Last = 2 }, "use - keep token.2"},
		{"a tenth", 9, []int{9}, none, asking(9, false), "use word-9 keep token.9,token.10"},
		{"all are lost", 3, none, none, asking(3, false), "use - keep token.4"},
		{"the last is lost, and another is asked for", 3, none, none, func(_ *Pair, a *Access) { a.Last, a.Requested = 3, &RotationRequest{After: 3, Revoke: true} }, "use - keep token.4"},
		{"the next is lost", 3, none, none, func(_ *Pair, a *Access) { a.Last, a.Requested = 4, &RotationRequest{After: 3} }, "use - keep token.4"},
		{"after the other mode's", 0, none, none, func(_ *Pair, a *Access) { a.Live = []int{3, 4} }, "use - keep token.5"},
		{"it is lost, and the other mode's number is higher", 0, none, none, func(_ *Pair, a *Access) { a.Live, a.Last = []int{3, 4}, 2 }, "use - keep token.5"},
		{"which are lost", 0, none, none, func(_ *Pair, a *Access) { a.Bound = 4 }, "use - keep token.5"},

		{"the source was not read", 2, []int{1, 2}, none, func(v *Pair, _ *Access) { v.Source.Reading = state.Unread }, "use word-2 keep token,token.2"},
		{"its control plane was not told", 2, []int{1, 2}, none, func(_ *Pair, a *Access) { a.AwaitsRestart = true }, "use word-2 keep token,token.2"},
		{"nobody tried it yet", 2, []int{1, 2}, none, func(v *Pair, _ *Access) { v.Link.Spec.Credentials.Preflight = api.Warn }, "use word-2 keep token,token.2"},
		{"nobody tries it here", 2, []int{1, 2}, none, func(v *Pair, a *Access) {
			v.Link.Spec.Credentials.Preflight, a.NotVerifying = api.Warn, true
		}, "use word-2 keep token.2"},
	}
	for _, tt := range tests {
		v := lastingTo(t, tt.carried, tt.issued, tt.others)
		a := v.access()
		if tt.change != nil {
			tt.change(&v, &a)
		}
		got, err := v.LegacyTokens(a)
		if words := got.words(); err != nil || words != tt.want {
			t.Errorf("%s: %s, want %s (%v)", tt.name, words, tt.want, err)
		}
	}
}

func asking(past int, revoke bool) func(*Pair, *Access) {
	return func(_ *Pair, a *Access) { a.Requested = &RotationRequest{After: past, Revoke: revoke} }
}

func (l LegacyTokens) words() string {
	use, keep := "-", make([]string, len(l.Keep))
	if l.Use != nil {
		use = string(l.Use.Token.Bytes())
	}
	for i, k := range l.Keep {
		keep[i] = strings.TrimPrefix(k.Name, "linkwright.west-")
	}
	out := "use " + use + " keep " + strings.Join(keep, ",")
	if l.Done {
		out += " met"
	}
	return out
}

// A token that was tried, and does not work, takes the place of none.
func TestLastingFails(t *testing.T) {
	v := lastingTo(t, 2, []int{1, 2}, nil)
	v.Link.Spec.Credentials.Preflight = api.Warn
	use, _ := v.LegacyTokens(v.access())
	for _, tt := range []struct {
		why    *object.Reason
		blocks bool
		keep   int
	}{{nil, false, 1}, {object.Because(reason.Unreachable, "x"), false, 1}, {object.Because(reason.Unauthorized, "x"), true, 2}} {
		v.Verification = &state.Verification{Fingerprint: v.VerificationOf(use.Use), Why: tt.why, Blocks: tt.blocks}
		if got, _ := v.LegacyTokens(v.access()); len(got.Keep) != tt.keep {
			t.Errorf("%v: kept %v", tt.why, got.Keep)
		}
	}
}

// Names of Secrets never tell of another source.
func TestNamesOfTokens(t *testing.T) {
	account := func(source string) object.Key {
		return object.Key{Kind: "ServiceAccount", Namespace: object.AccessNamespace, Name: "linkwright." + source}
	}
	observed := map[string]string{}
	for _, source := range []string{"foo", "foo-token", "foo-2", "token", "token-2"} {
		for n := 1; n < 12; n++ {
			for what, k := range map[string]object.Key{"bound": generationKey(account(source), n), "lasting": tokenSecret(account(source), n)} {
				whose := fmt.Sprint(what, source, n)
				if other := observed[k.Name]; other != "" {
					t.Errorf("%s is %s and %s", k.Name, other, whose)
				}
				observed[k.Name] = whose
				readAs(t, k, what, account(source), n)
			}
		}
	}
	for _, name := range []string{"linkwright.foo-token.1", "linkwright.foo-token.02", "linkwright.foo-token.", "linkwright.foo-token.x", "linkwright.foo-tokens", "linkwright.foo"} {
		if _, n := parseTokenKey(object.Key{Kind: "Secret", Namespace: object.AccessNamespace, Name: name}); n != 0 {
			t.Errorf("%s is token %d", name, n)
		}
	}
}

// readAs holds that a Secret's name is read as that of the n-th token of an account, of one kind alone.
func readAs(t *testing.T, k object.Key, what string, account object.Key, n int) {
	t.Helper()
	yes, no := parseTokenKey, parseGeneration
	if what == "bound" {
		yes, no = parseGeneration, parseTokenKey
	}
	if of, number := yes(k); of != account || number != n {
		t.Errorf("%s, %s: token %d of %s", k.Name, what, number, of.Name)
	}
	if of, number := no(k); number != 0 {
		t.Errorf("%s, %s: also token %d of %s", k.Name, what, number, of.Name)
	}
}

func TestNewest(t *testing.T) {
	v := lastingTo(t, 2, []int{2}, []int{3})
	if n, err := v.Newest(v.access()); n != 3 || err != nil {
		t.Errorf("tokens that do not expire: %d, %v", n, err)
	}
	v = rotating(t, issued(4, start), 2, 3)
	if n, err := v.Newest(v.access()); n != 4 || err != nil {
		t.Errorf("tokens that expire: %d, %v", n, err)
	}
	show(&v.Source.Live, Secrets(v.Link)[0], object.Body{})
	if _, err := v.Newest(v.access()); err == nil {
		t.Error("the credential was not read: no error")
	}
}
