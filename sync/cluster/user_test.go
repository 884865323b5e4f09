package cluster

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
)

// A token of a ServiceAccount says whose it is; nothing else does.
func TestUserOf(t *testing.T) {
	jwt := func(claims string) string {
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	}
	token := jwt(`{"sub":"system:serviceaccount:ops:lw"}`)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		cfg  rest.Config
		want string
	}{
		"token":         {rest.Config{BearerToken: token}, "system:serviceaccount:ops:lw"},
		"file":          {rest.Config{BearerTokenFile: file}, "system:serviceaccount:ops:lw"},
		"no file":       {rest.Config{BearerTokenFile: file + "x"}, ""},
		"impersonation": {rest.Config{BearerToken: token, Impersonate: rest.ImpersonationConfig{UserName: "other"}}, "other"},
		"opaque":        {rest.Config{BearerToken: "abc"}, ""},
		"no JSON":       {rest.Config{BearerToken: "a.b.c"}, ""},
		"no subject":    {rest.Config{BearerToken: jwt(`{}`)}, ""},
		"password":      {rest.Config{Username: "u", Password: "p"}, ""},
	} {
		if got := userOf(&tt.cfg); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
