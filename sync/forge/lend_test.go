package forge_test

import (
	"strings"
	"testing"

	"github.com/linkwright/linkwright/sync/forge"
)

func TestLend(t *testing.T) {
	for _, tt := range []struct {
		app, api, git string
		toAPI, toGit  bool
	}{
		{"", "https://api.github.com", "github.com", true, true},
		{"https://api.github.com/", "https://API.github.com/", "GitHub.com", true, true},
		{"", "https://ghe.example.com/api/v3", "ghe.example.com", false, false},
		{"", "https://api.github.com.example.com", "api.github.com", false, false},
		{"", "http://api.github.com", "github.com.example.com", false, false},
		{"https://ghe.example.com/api/v3", "https://ghe.example.com/api/v3", "ghe.example.com", true, true},
		{"https://ghe.example.com:8443/api/v3", "https://ghe.example.com/api/v3", "ghe.example.com", false, true},
		{"https://ghe.example.com/api/v3", "https://api.github.com", "github.com", false, false},
		{"https://api.acme.ghe.com", "https://api.acme.ghe.com", "acme.ghe.com", true, true},
		{"https://api.example.com", "https://api.example.com", "example.com", true, false},
	} {
		a := &forge.App{ID: 7, URL: tt.app}
		if err := a.ForHost(tt.api); (err == nil) != tt.toAPI {
			t.Errorf("Lend(%s) of %s: %v", tt.api, tt.app, err)
		}
		err := a.ForGit(tt.git)
		if (err == nil) != tt.toGit || err != nil && !strings.HasSuffix(err.Error(), "give its API, https://"+tt.git+"/api/v3") {
			t.Errorf("LendGit(%s) of %s: %v", tt.git, tt.app, err)
		}
	}
}
