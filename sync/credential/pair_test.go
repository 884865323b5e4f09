package credential

import (
	"strings"
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

func TestCredential(t *testing.T) {
	key := object.Key{Kind: "Secret", Namespace: object.AccessNamespace, Name: "linkwright.west-token"}
	link := func(uid string, mark object.Mark, body string) Pair {
		v := Pair{state.View{Source: state.Cluster{Reading: state.Read, Facts: linkerd.Facts{UID: uid}}, Target: state.Cluster{Reading: state.Read}}}
		put(&v.Target.Live, key, object.Record{UID: "x", Mark: mark}, object.NewBody([]byte(body)))
		return v
	}
	const filled = `{"data":{"token":"c2VjcmV0"}}` // "secret"
	for name, v := range map[string]Pair{
		"not seen":         link("u", object.Ours, ""),
		"not filled":       link("u", object.Ours, `{"data":{}}`),
		"empty":            link("u", object.Ours, `{"data":{"token":""}}`),
		"without our mark": link("u", object.Unmarked, filled),
		"somebody else's":  link("u", object.Theirs, filled),
		"a copy":           link("u", object.Copied, filled),
		"unknown target":   {state.View{Source: state.Cluster{Reading: state.Read}}},
	} {
		if got, err := v.Credential(key); got != nil || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	first, err := link("u", object.Ours, filled).Credential(key)
	if err != nil || string(first.Token.Bytes()) != "secret" {
		t.Fatalf("filled: %v, %v", first, err)
	}
	again, _ := link("u", object.Ours, filled).Credential(key)
	other, _ := link("another source", object.Ours, filled).Credential(key)
	if first.Fingerprint != again.Fingerprint || first.Fingerprint == other.Fingerprint || len(first.Fingerprint) != 12 {
		t.Errorf("prints: %s, %s, of another source %s", first.Fingerprint, again.Fingerprint, other.Fingerprint)
	}
	for what, api := range map[string]linkerd.Endpoint{"address": {Server: "https://b", CA: "ca"}, "CA": {Server: "https://a", CA: "cb"}} {
		v := link("u", object.Ours, filled)
		v.Target.Facts.API = linkerd.Endpoint{Server: "https://a", CA: "ca"}
		was, _ := v.Credential(key)
		v.Target.Facts.API = api
		if is, _ := v.Credential(key); is.Fingerprint == was.Fingerprint || string(is.Token.Bytes()) != "secret" {
			t.Errorf("another %s of the target: print %s, before %s", what, is.Fingerprint, was.Fingerprint)
		}
	}
	_, err = link("u", object.Ours, `{"data":{"token":"c2VjcmV0!"},"type":7}`).Credential(key)
	if err == nil || strings.Contains(err.Error(), "c2VjcmV0") || strings.Contains(err.Error(), "secret ") {
		t.Errorf("no Secret: %v", err)
	}
}
