package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/linkwright/linkwright/hack/fault"
	"github.com/linkwright/linkwright/hack/faultproxy"
	"github.com/linkwright/linkwright/object"
)

// sweep strikes one apply and prune of a few objects.
type sweep struct {
	*testing.T
	proxy *faultproxy.Proxy
	past  *Client // past the proxy
	as    *kubernetes.Clientset
	ns    string
	want  []object.Object
}

func newSweep(t *testing.T) *sweep {
	t.Helper()
	proxy, err := faultproxy.New(live.Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Errorf("close proxy: %v", err)
		}
	})
	past, _ := dial(t, live.Config, Options{})
	return &sweep{T: t, proxy: proxy, past: past, as: kubernetes.NewForConfigOrDie(live.As("foreign"))}
}

// furnish makes a namespace in which one object of each fate is: new ones are missing, changed, fixed, kept, and ours that nobody declares any more;
// and somebody else's, one of which has linkwright's labels.
func (s *sweep) furnish() {
	s.Helper()
	s.ns = namespace(s.T, s.as)
	was := []object.Object{
		configMap(s.T, s.ns, "changed", map[string]string{"k": "old"}), binding(s.T, s.ns, "fixed", "old"),
		configMap(s.T, s.ns, "kept", nil), configMap(s.T, s.ns, "undeclared", nil), secret(s.T, s.ns, "undeclared", corev1.SecretTypeOpaque),
	}
	for _, o := range was {
		write(s.T, s.past, create(o))
	}
	s.want = []object.Object{
		configMap(s.T, s.ns, "new", nil), configMap(s.T, s.ns, "changed", map[string]string{"k": "v"}), was[2],
		secret(s.T, s.ns, "new", corev1.SecretTypeOpaque), binding(s.T, s.ns, "fixed", "new"),
	}
	for name, labels := range map[string]map[string]string{"foreign": nil, "copied": {object.OwnerLabel: object.DefaultOwner}} {
		theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		if _, err := s.as.CoreV1().ConfigMaps(s.ns).Create(s.Context(), theirs, metav1.CreateOptions{}); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *sweep) watches() []object.Watch {
	return []object.Watch{
		{Version: "v1", Kind: "ConfigMap", Namespace: s.ns},
		{Version: "v1", Kind: "Secret", Namespace: s.ns},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding", Namespace: s.ns},
	}
}

// turn returns one try: look, and write one after another what is not as it should be.
func (s *sweep) turn(ctx context.Context, c *Client) error {
	observed, err := c.Observe(ctx, s.watches())
	if err != nil {
		return err
	}
	var errs []error
	for _, ch := range s.changes(observed) {
		if ctx.Err() != nil {
			break
		}
		_, err := c.Write(ctx, ch)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (s *sweep) changes(observed object.Observation) []object.Change {
	var out []object.Change
	declared := map[object.Key]bool{}
	for _, o := range s.want {
		declared[o.Key] = true
		ch := update(o, observed.Record(o.Key))
		switch {
		case ch.Was.IsZero():
			ch.Action = object.Create
		case ch.Was.Mark != object.Ours || o.Covered(ch.Was) && o.Digest == ch.Was.Digest:
			continue
		case o.Key.Kind == "RoleBinding":
			ch.Action = object.Replace
		}
		out = append(out, ch)
	}
	for k, r := range observed.Records() {
		if r.Mark == object.Ours && !declared[k] {
			out = append(out, object.Change{Action: object.Delete, Key: k, Was: r})
		}
	}
	return out
}

// state returns what is in the namespace: of linkwright what it says, of what nobody should write to its version too.
func (s *sweep) state() map[string]string {
	s.Helper()
	observed, err := s.past.Observe(s.Context(), s.watches())
	if err != nil {
		s.Fatal(err)
	}
	out := map[string]string{}
	for k, r := range observed.Records() {
		switch {
		case k.Name == "kube-root-ca.crt":
			continue
		case k.Name == "kept", r.Mark != object.Ours:
			out[k.Kind+" "+k.Name] = fmt.Sprint(r.Mark, r.UID, r.ResourceVersion)
		case k.Name == "changed":
			out[k.Kind+" "+k.Name] = fmt.Sprint(r.Mark, r.UID, r.Digest)
		default:
			out[k.Kind+" "+k.Name] = fmt.Sprint(r.Mark, r.Digest)
		}
	}
	return out
}

// expected returns the state that a turn should lead to from this one.
func (s *sweep) expected(from map[string]string) map[string]string {
	out := maps.Clone(from)
	delete(out, "ConfigMap undeclared")
	delete(out, "Secret undeclared")
	for _, o := range s.want {
		what := o.Key.Kind + " " + o.Key.Name
		switch o.Key.Name {
		case "kept":
		case "changed":
			uid := observed(s.T, s.past, o).UID
			out[what] = fmt.Sprint(object.Ours, uid, o.Digest)
		default:
			out[what] = fmt.Sprint(object.Ours, o.Digest)
		}
	}
	return out
}

// open returns a client through the proxy, as of a process that was just started.
func (s *sweep) open(o Options) (*Client, func()) {
	s.Helper()
	c, err := connect(s.proxy.Config(), o)
	if err != nil {
		s.Fatal(err)
	}
	return c, c.close
}

// requests returns how many an undisturbed turn makes.
func (s *sweep) requests() int {
	s.Helper()
	s.furnish()
	want := s.expected(s.state())
	c, closed := s.open(Options{})
	defer closed()
	s.proxy.Set()
	if err := s.turn(s.Context(), c); err != nil {
		s.Fatal(err)
	}
	n := len(s.proxy.Log())
	if diff := cmp.Diff(want, s.state()); diff != "" || n < 10 {
		s.Fatalf("undisturbed, %d requests: -want +got\n%s", n, diff)
	}
	if err := s.turn(s.Context(), c); err != nil || len(s.proxy.Log()) != n+len(s.watches()) {
		s.Fatalf("a second turn has nothing to do but to look: %v, %+v", err, s.proxy.Log()[n:])
	}
	return n
}

// strike does a turn whose request at index goes wrong, and another that must lead to where one undisturbed would: of
// the same client, or of a new one where the first was killed. What hangs costs a client its patience; one whose patience is too
// short for a machine with much to do does not come to that request, and another one has more.
func (s *sweep) strike(index int, f fault.Fault, killed bool) {
	s.Helper()
	if f.Kind != fault.Hang {
		s.struck(index, f, killed, long)
		return
	}
	for patience := 500 * time.Millisecond; ; patience *= 2 {
		if s.struck(index, f, killed, patience) {
			return
		}
	}
}

// long is the patience of clients that come to every request.
const long = 15 * time.Second

// struck strikes once; false: the client did not come to the request, which only one with little patience may.
func (s *sweep) struck(index int, f fault.Fault, killed bool, patience time.Duration) bool {
	s.Helper()
	s.furnish()
	want := s.expected(s.state())
	c, closed := s.open(Options{Timeout: patience})
	defer func() { closed() }()
	ctx, kill := context.WithCancel(s.Context())
	defer kill()
	switch {
	case killed && f.Kind == fault.ResetBefore:
		f.Before = func(fault.Request) { kill() }
	case killed:
		f.After = func(fault.Request) { kill() }
	}
	s.proxy.Set(fault.Rule{Nth: index, Fault: f})
	first := s.turn(ctx, c)
	log := s.proxy.Log()
	if len(log) < index || log[index-1].Fault != f.Kind {
		if patience >= long {
			s.Fatalf("request %d was not struck: %v, %+v", index, first, log)
		}
		return false
	}
	what := fmt.Sprintf("request %d, %s %s %s", index, log[index-1].Verb, log[index-1].Path, f.Kind)
	s.proxy.Set()
	if killed || f.Kind == fault.Hang {
		closed()
		c, closed = s.open(Options{})
	}
	s.due(c)
	if err := s.turn(s.Context(), c); err != nil {
		s.Errorf("%s: the first turn: %v\nthe second: %v", what, first, err)
	}
	if diff := cmp.Diff(want, s.state()); diff != "" {
		s.Errorf("%s: the first turn: %v; -want +got\n%s", what, first, diff)
	}
	return true
}

// due waits until the client asks the cluster again. Its first request must close the breaker for the second.
func (s *sweep) due(c *Client) {
	if wait, isOpen := c.breaker.due(); isOpen {
		sleep(s.Context(), wait)
	}
}

// half returns which half of the requests is struck: any, or that of LINKWRIGHT_SEED, 0 or 1; both are everything.
func half(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("LINKWRIGHT_SEED"))
	if err != nil {
		n = rand.IntN(2)
	}
	t.Logf("LINKWRIGHT_SEED=%d repeats this half", n&1)
	return n & 1
}

// Whatever goes wrong at whichever request, the next turn makes good, and nobody else's is touched.
func TestFaultsAtEveryRequest(t *testing.T) {
	faults := map[string]fault.Fault{
		"unauthorised": {Kind: fault.Refuse, Code: 401},
		"forbidden":    {Kind: fault.Refuse, Code: 403},
		"not found":    {Kind: fault.Refuse, Code: 404},
		"conflict":     {Kind: fault.Refuse, Code: 409},
		"expired":      {Kind: fault.Refuse, Code: 410},
		"invalid":      {Kind: fault.Refuse, Code: 422},
		"throttled":    {Kind: fault.Refuse, Code: 429, RetryAfter: 1},
		"error":        {Kind: fault.Refuse, Code: 500},
		"unavailable":  {Kind: fault.Refuse, Code: 503},
		"late error":   {Kind: fault.Fail, Code: 500},
		"timeout":      {Kind: fault.Fail, Code: 504},
		"reset before": {Kind: fault.ResetBefore},
		"reset after":  {Kind: fault.ResetAfter},
		"cut":          {Kind: fault.Cut},
		"hang":         {Kind: fault.Hang},
		"kill before":  {Kind: fault.ResetBefore},
		"kill after":   {Kind: fault.ResetAfter},
	}
	needAPIServer(t)
	seed := half(t)
	for i, name := range slices.Sorted(maps.Keys(faults)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSweep(t)
			for index := range s.requests() {
				if (index+i)%2 == seed {
					s.strike(index+1, faults[name], strings.HasPrefix(name, "kill"))
				}
			}
		})
	}
}
