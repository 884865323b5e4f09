package cli

import "testing"

func TestAllowedIsACommit(t *testing.T) {
	for commit, want := range map[string]bool{
		"": true, "0123456": true, "0123456789abcdef0123456789abcdef01234567": true,
		"012345": false, "main": false, "0123456789ABCDEF": false, "0123456789abcdef0123456789abcdef012345678": false,
	} {
		if _, err := (&nonFastForwardFlags{commit}).check(); (err == nil) != want {
			t.Errorf("--allow-non-fast-forward %q: %v", commit, err)
		}
	}
}
