package source

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/linkwright/linkwright/sync/forge"
)

// What we say ourselves holds no secret, though a word of it may be one: it stays readable.
func TestRedactionLeavesOurWordsAlone(t *testing.T) {
	s, err := New(Options{Repo: "https://git.example.com/mesh/fleet.git"})
	if err != nil {
		t.Fatal(err)
	}
	for _, password := range []string{"e", "git", "fleet", "redacted", "password", "main", "credentials"} {
		v := &visit{dialer: dialer{s.remote, route{source: s, who: credentials{user: "git", hidden: []string{password, "", password}}}}}
		v.who.password = forge.NewSecret(password)
		for _, err := range []error{
			&forge.Refusal{Code: 401}, ErrRefGone, transport.ErrEmptyRemoteRepository, errPage, &Waiting{why: "it said [redacted]"},
			&proxyError{proxy: "git.example.com:80", code: 407}, &sshDenied{"the password is refused"}, &keysError{errors.New("the key password is empty")},
		} {
			want := "read https://git.example.com/mesh/fleet.git at main: " + s.reason(&visit{dialer: dialer{route: route{source: s, who: credentials{password: v.who.password}}}}, err)
			if got := s.explain(v, "main", err).Error(); got != want {
				t.Errorf("explain(%v) with the password %q:\n-%s\n+%s", err, password, want, got)
			}
		}
	}
}

// Of an unidentified cluster's words every form goes, once: the longest first, and none out of what was put in its place.
func TestRedact(t *testing.T) {
	for _, tt := range []struct {
		hidden     []string
		text, want string
	}{
		{[]string{"e", "git"}, "remote: fleet.git: a server error", "remote: fleet.git: a server error"},
		{[]string{"hunter2", "hunter2"}, "no hunter2 here", "no [redacted] here"},
		{[]string{"hunter2", "hunter2hunter2"}, "sent hunter2hunter2", "sent [redacted]"},
		{[]string{"redacted", "hunter2"}, "hunter2 redacted", "[redacted] [redacted]"},
		{[]string{"e"}, "sent " + pair("git", "e"), "sent [redacted]"},
		{[]string{"a b/c"}, "a+b%2Fc, a%20b%2Fc, " + pair("git", "a b/c"), "[redacted], [redacted], [redacted]"},
	} {
		c := credentials{user: "git", hidden: tt.hidden}
		if got := c.redact(tt.text); got != tt.want {
			t.Errorf("redact(%q) of %q: -want +got\n-%s\n+%s", tt.text, tt.hidden, tt.want, got)
		}
	}
	s := &Source{}
	v := &visit{dialer: dialer{route: route{source: s, who: credentials{user: "git", hidden: []string{"hunter2"}}}}}
	for _, err := range []error{
		errors.New("unexpected hunter2"), &moved{"https://hunter2.example.com", "it redirects to https://hunter2.example.com"},
		&proxyError{proxy: "p:80", to: "x:443", cause: errors.New("hunter2")},
		fmt.Errorf("%w: of the tags hunter2", ErrRefGone), fmt.Errorf("%w: hunter2", errCut), &serverMessage{"hunter2"},
	} {
		if got := s.reason(v, err); strings.Contains(got, "hunter2") {
			t.Errorf("reason(%v): %s", err, got)
		}
	}
}
