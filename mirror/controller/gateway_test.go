package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestResolve: addresses and names may be mixed, with blanks between them. As long as one of them has an address, the others' errors do not count.
func TestResolve(t *testing.T) {
	lookup := func(_ context.Context, host string) ([]string, error) {
		switch host {
		case "two.example":
			return []string{"192.0.2.9", "192.0.2.1"}, nil
		case "none.example":
			return nil, nil
		}
		return nil, errors.New("no such host")
	}
	for _, tt := range []struct {
		gateway, want string
		named         bool
	}{
		{"", "[]", false},
		{"192.0.2.10", "[192.0.2.10]", false},
		{"192.0.2.11, 192.0.2.10,192.0.2.11", "[192.0.2.10 192.0.2.11]", false},
		{"2001:DB8::1", "[2001:db8::1]", false},
		{"two.example", "[192.0.2.1 192.0.2.9]", true},
		{"two.example,gone.example,192.0.2.1", "[192.0.2.1 192.0.2.9]", true},
		{"gone.example", "[] gone.example: no such host", true},
		{"none.example", "[]", true},
		{",,", "[]", false},
	} {
		addresses, named, err := resolve(t.Context(), lookup, tt.gateway)
		if got := strings.TrimSpace(fmt.Sprint(addresses, " ", text(err))); got != tt.want || named != tt.named {
			t.Errorf("resolve(%q): got %s, named %v; want %s, %v", tt.gateway, got, named, tt.want, tt.named)
		}
	}
}
