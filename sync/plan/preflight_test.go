package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

var verdicts = map[string]state.Verification{
	"passes":      {},
	"refused":     {Why: object.Because(reason.Forbidden, "LIST of pods: 403"), Blocks: true},
	"unreachable": {Why: object.Because(reason.Unreachable, "LIST of pods: no answer")},
}

// proves plays who tries: whatever a step asks for has this verdict. It gives the prints that were tried.
func (s *sim) proves(verdict string) (tried []string) {
	s.t.Helper()
	if s.snapshot.Verifications == nil {
		s.snapshot.Verifications = map[api.ClusterName]map[api.ClusterName]state.Verification{}
	}
	for range 10 {
		last, n := s.settle(), len(tried)
		for _, step := range last {
			for _, y := range step.Verifications {
				if text := string(y.Request.Config.Bytes()); !strings.Contains(text, "    token: |-\n      ") || len(y.Request.Lists) == 0 {
					s.t.Errorf("%s is tried with %d lists, and no token", y.Link, len(y.Request.Lists))
				}
				proof := verdicts[verdict]
				proof.Fingerprint, proof.At, proof.Next = y.Fingerprint, s.snapshot.Now, s.snapshot.Now.Add(time.Minute)
				s.snapshot.Verifications[y.Link.Source] = map[api.ClusterName]state.Verification{y.Link.Target: proof}
				tried = append(tried, y.Fingerprint)
			}
		}
		if len(tried) == n {
			return tried
		}
	}
	s.t.Fatal("it is tried again and again")
	return nil
}

const discovering = "  remoteDiscoverySelector: {matchLabels: {a: b}}\n"

// What a trial gave keeps a credential from its readers, by what is declared: a first one, and a new one. The one in use stays, and
// the rest of the end is written.
func TestPreflight(t *testing.T) {
	const in, held = "west→east in west: Ready", "west→east in west: Blocked CredentialNotAccepted"
	tests := []struct {
		spec, preflight, verdict, want string
	}{
		{discovering, "Warn", "passes", in},
		{discovering, "Warn", "refused", held},
		{discovering, "Warn", "unreachable", in + " CredentialNotAccepted"},
		{discovering, "Require", "refused", held},
		{discovering, "Require", "unreachable", held},
		{discovering, "Require", "passes", in},
		{discovering, "Skip", "refused", in},
		{"", "Warn", "refused", in + " CredentialNotAccepted"},
		{"", "Require", "refused", held},
		{"", "Require", "unreachable", held},
		{"", "Require", "passes", in},
		{"", "Skip", "refused", in},
	}
	for _, tt := range tests {
		name := fmt.Sprintf("%s %s discovering=%t", tt.preflight, tt.verdict, tt.spec != "")
		t.Run(name, func(t *testing.T) {
			link := linkDoc("west", "east", tt.spec+"  credentials: {preflight: "+tt.preflight+"}")
			s := newSim(t, declare(t, two, link), two...)
			tried := s.proves(tt.verdict)
			if want := 1; len(tried) != want && tt.preflight != "Skip" || tt.preflight == "Skip" && len(tried) > 0 {
				t.Errorf("it was tried %d times", len(tried))
			}
			same(t, "first", []string{"west base: Ready", tt.want}, statuses(s.reconcile("west")))
			plane := linkerd.ControlPlaneSecret(api.Cluster{}.WithDefaults().Linkerd, "east")
			if written := !s.live["west"].Live.Record(plane).IsZero(); written != (tt.spec != "" && strings.HasPrefix(tt.want, in)) {
				t.Errorf("the control plane has it: %t", written)
			}

			// Once it works, it is written; when it fails later, it stays, and is reported.
			s.snapshot.Now = s.snapshot.Now.Add(time.Hour)
			s.proves("passes")
			same(t, "passed", []string{"west base: Ready", in}, statuses(s.reconcile("west")))
			s.snapshot.Now = s.snapshot.Now.Add(time.Hour)
			s.proves(tt.verdict)
			later := in
			if tt.verdict != "passes" && tt.preflight != "Skip" {
				later += " CredentialNotAccepted"
			}
			step := s.reconcile("west")
			same(t, "later", []string{"west base: Ready", later}, statuses(step))
			if step.Retry.IsZero() != (tt.preflight == "Skip") {
				t.Errorf("it is tried again at %s", step.Retry)
			}
		})
	}
}

// Nothing is asked where nobody tries, of a suspended link, and of a cluster that another process writes.
func TestPreflightSkip(t *testing.T) {
	link := linkDoc("west", "east", discovering)
	s := newSim(t, declare(t, two, link), two...)
	for range 9 {
		s.reconcile("east")
		if step := s.reconcile("west"); len(step.Verifications) > 0 {
			t.Errorf("nobody tries, and it asks for %v", step.Verifications)
		}
	}
	s.snapshot.Verifications = map[api.ClusterName]map[api.ClusterName]state.Verification{}
	s.snapshot.WrittenElsewhere = map[api.ClusterName]bool{"west": true}
	if step := s.reconcile("west"); len(step.Verifications) > 0 {
		t.Error("asked for what another process writes")
	}
	s.snapshot.WrittenElsewhere = nil
	if step := s.reconcile("west"); len(step.Verifications) != 1 {
		t.Errorf("got %d trials of a link in place", len(step.Verifications))
	}
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", discovering+"  suspend: true"))
	if step := s.reconcile("west", Suspend); len(step.Verifications) > 0 {
		t.Error("asked for a suspended link")
	}
}

// A verdict is one of the bytes that were tried: another token or address is tried again.
func TestPreflightOfOtherBytes(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", discovering)), two...)
	first := s.proves("passes")
	s.snapshot.Fleet = declareAs(t, two, map[api.ClusterName]string{"east": ", apiServer: https://other.example.com:6443"}, linkDoc("west", "east", discovering))
	if second := s.proves("refused"); len(second) != 1 || second[0] == first[0] {
		t.Errorf("tried %v, then %v", first, second)
	}
	same(t, "moved", []string{"west base: Ready", "west→east in west: Blocked CredentialNotAccepted"}, statuses(s.reconcile("west")))
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", discovering))
	if third := s.proves("passes"); len(third) != 1 || third[0] != first[0] {
		t.Errorf("tried %v, and back %v", first, third)
	}
}
