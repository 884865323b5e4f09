package cli

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

// A variable sets a flag that was not given; an empty one, and one of a flag that decides something, sets none. No Visit finds it.
func TestFromEnvironment(t *testing.T) {
	var repo, kubeconfig, management string
	var yes bool
	var only []string
	c := &cobra.Command{}
	f := c.Flags()
	f.StringVar(&repo, "repo", "", "")
	f.BoolVar(&yes, "yes", false, "")
	f.StringVar(&kubeconfig, "kubeconfig", "", "")
	f.StringVar(&management, managementPrefix+"kubeconfig", "", "")
	f.StringArrayVar(&only, "only-write", nil, "")
	WithoutVariable(f, "kubeconfig")
	t.Setenv("LINKWRIGHT_REPO", "https://example.com/x")
	t.Setenv("LINKWRIGHT_YES", "true")
	t.Setenv("LINKWRIGHT_KUBECONFIG", "management.yaml")
	t.Setenv("LINKWRIGHT_ONLY_WRITE", "east, west")
	if err := FromEnvironment(c); err != nil {
		t.Fatal(err)
	}
	if repo != "https://example.com/x" || yes || kubeconfig != "" || management != "management.yaml" || !slices.Equal(only, []string{"east", "west"}) {
		t.Errorf("repo %q, yes %t, kubeconfig %q, management %q, only %q", repo, yes, kubeconfig, management, only)
	}
	if !FromVariable(f.Lookup("repo")) || f.Changed("repo") || FromVariable(f.Lookup("yes")) {
		t.Error("which flags are from the environment is not known")
	}
	if err := f.Set("repo", "given"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LINKWRIGHT_ONLY_WRITE", "")
	if err := FromEnvironment(c); err != nil || repo != "given" {
		t.Errorf("a flag that is given: %q, %v", repo, err)
	}
}
