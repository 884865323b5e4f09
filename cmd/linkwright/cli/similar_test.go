package cli_test

import (
	"slices"
	"testing"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

func TestSimilar(t *testing.T) {
	for word, want := range map[string][]string{
		"syn":  {"sync"},
		"s":    {"sync", "status"},
		"snyc": {"sync"},
		"":     nil,
	} {
		if got := cli.Similar(word, []string{"sync", "man", "run", "status"}); !slices.Equal(got, want) {
			t.Errorf("Similar(%q): got %q, want %q", word, got, want)
		}
	}
}
