package cli

import (
	"math"
	"testing"

	"github.com/linkwright/linkwright/api"
)

func TestPruneCap(t *testing.T) {
	tests := []struct {
		text string
		want api.PruneLimits
		ok   bool
	}{
		{"maxClusters=1,maxLinks=30%", api.PruneLimits{MaxClusters: 1, MaxLinks: 30, MinAllowed: math.MaxInt, MaxMirrors: 100}, true},
		{"maxMirrors=0%, minAllowed=0", api.PruneLimits{MaxClusters: math.MaxInt, MaxLinks: 100, MinAllowed: 0, MaxMirrors: 0}, true},
		{text: "maxClusters=1%"},
		{text: "maxLinks=30"},
		{text: "maxLinks=101%"},
		{text: "minAllowed=-1"},
		{text: "maxLink=1%"},
		{text: ""},
		{text: "maxClusters"},
	}
	for _, tt := range tests {
		var got *api.PruneLimits
		err := (&pruneCap{at: &got}).Set(tt.text)
		if (err == nil) != tt.ok || tt.ok && *got != tt.want {
			t.Errorf("%q: %+v, %v", tt.text, got, err)
		}
	}
}
