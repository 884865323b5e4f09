package cluster

import (
	"encoding/base64"
	"testing"

	"github.com/linkwright/linkwright/object"
)

// A token says which ServiceAccount it was issued for: one that is created again has another uid.
func TestAccountUID(t *testing.T) {
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for claims, want := range map[string]string{
		`{"kubernetes.io":{"namespace":"linkwright","serviceaccount":{"name":"linkwright","uid":"u-1"}}}`: "u-1", `{"sub":"x"}`: "", `{`: "",
	} {
		if got := AccountUID(object.NewSecret([]byte("h." + part(claims) + ".s"))); got != want {
			t.Errorf("%s: %q, want %q", claims, got, want)
		}
	}
	if got := AccountUID(object.NewSecret([]byte("no token"))); got != "" {
		t.Errorf("no token: %q", got)
	}
}
