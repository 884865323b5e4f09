package lease

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/hack/leaks"
	"github.com/linkwright/linkwright/hack/testbed"
)

// live is the cluster of this package's tests; nil without LINKWRIGHT_CLUSTERS.
var live *testbed.Cluster

func TestMain(m *testing.M) { os.Exit(withBed(m)) }

func withBed(m *testing.M) int {
	if os.Getenv("LINKWRIGHT_CLUSTERS") == "" {
		return left(m.Run())
	}
	bed, err := testbed.Start(context.Background(), testbed.Options{Names: []string{"home"}, Light: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	live = bed.Clusters[0]
	code := m.Run()
	if err := bed.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return left(code)
}

// left returns the exit code of tests that gave code. Client-go's shared connections stay open.
func left(code int) int {
	return leaks.Code(code, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"), goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*ClientConn).readLoop"))
}

// wire can be cut: requests then fail as if the network were down.
type wire struct {
	next http.RoundTripper
	down atomic.Bool
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.down.Load() {
		return nil, errors.New("the wire is cut")
	}
	return w.next.RoundTrip(r)
}

// process is one that wants the lease.
type process struct {
	Lock
	wire *wire
}

// lasts is how long a lease lasts that is not renewed: so much longer than a holder tries to renew it that a machine with much to
// do does not oversleep the difference.
const lasts = 4 * time.Second

// start returns a process that holds its lease as briefly as that allows.
func start(t *testing.T, ns, identity string) process {
	t.Helper()
	cut := &wire{}
	cfg := rest.CopyConfig(live.Config)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		cut.next = next
		return cut
	})
	return process{Lock{
		Client: kubernetes.NewForConfigOrDie(cfg).CoordinationV1(), Namespace: ns, Name: "linkwright", Identity: identity,
		Duration: lasts, Renew: lasts / 2, Retry: 50 * time.Millisecond,
	}, cut}
}

func home(t *testing.T) (*kubernetes.Clientset, string) {
	t.Helper()
	if live == nil {
		t.Skip("LINKWRIGHT_CLUSTERS is not set")
	}
	t.Parallel()
	admin := kubernetes.NewForConfigOrDie(live.As("admin"))
	ns, err := admin.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: strings.ToLower(t.Name()) + "-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return admin, ns.Name
}

// run is a Hold under way, whose terms the test steps through.
type run struct {
	begun chan term
	ended chan error // of Hold
	stop  context.CancelFunc
}

type term struct {
	number int64
	ctx    context.Context
	leave  chan<- error // what f returns
}

// hold starts p.Hold; busy counts the terms that run at this moment.
func hold(t *testing.T, p process, busy *atomic.Int32) run {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r := run{begun: make(chan term), ended: make(chan error, 1), stop: stop}
	go func() {
		r.ended <- p.Hold(ctx, func(ctx context.Context, number int64) error {
			if busy.Add(1) > 1 {
				t.Error("two terms run at the same time")
			}
			defer busy.Add(-1)
			leave := make(chan error)
			r.begun <- term{number, ctx, leave}
			return <-leave
		})
	}()
	return r
}

// next waits for a term.
func (r run) next(t *testing.T) term {
	t.Helper()
	select {
	case begun := <-r.begun:
		return begun
	case err := <-r.ended:
		t.Fatalf("Hold ended: %v", err)
	case <-time.After(2 * time.Minute):
		t.Fatal("no term begins")
	}
	return term{}
}

// drained waits for Hold to end as it should.
func (r run) drained(t *testing.T) {
	t.Helper()
	if err := <-r.ended; err != nil {
		t.Errorf("Hold: got %v, want nil", err)
	}
}

func read(t *testing.T, admin *kubernetes.Clientset, ns string) *coordinationv1.Lease {
	t.Helper()
	lease, err := admin.CoordinationV1().Leases(ns).Get(t.Context(), "linkwright", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// renewedAfter waits until the lease was renewed at that time or later.
func renewedAfter(t *testing.T, admin *kubernetes.Clientset, ns string, at time.Time) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for read(t, admin, ns).Spec.RenewTime.Time.Before(at) {
		<-tick.C
	}
}

func TestHandOverAfterDraining(t *testing.T) {
	admin, ns := home(t)
	var busy atomic.Int32
	a := hold(t, start(t, ns, "a"), &busy)
	first := a.next(t)
	waiting, waits := start(t, ns, "b"), make(chan string, 9)
	waiting.Waits = func(holder string, _ time.Time) { waits <- holder }
	b := hold(t, waiting, &busy)
	if holder := <-waits; holder != "a" {
		t.Errorf("b waits for %q, want a", holder)
	}
	a.stop()
	<-first.ctx.Done()
	// Draining takes longer than the lease lasts; all the while it is renewed, and b waits.
	renewedAfter(t, admin, ns, time.Now().Add(lasts+200*time.Millisecond))
	select {
	case <-b.begun:
		t.Error("b began while a drained")
	default:
	}
	first.leave <- nil
	a.drained(t)
	second := b.next(t)
	if len(waits) > 0 {
		t.Errorf("b says again that it waits, for %q", <-waits)
	}
	if first.number >= second.number {
		t.Errorf("terms: got %d and then %d, want them to grow", first.number, second.number)
	}
	b.stop()
	second.leave <- nil
	b.drained(t)
	if s := read(t, admin, ns).Spec; *s.HolderIdentity != "" || *s.LeaseTransitions != 2 {
		t.Errorf("after all: held by %q in term %d, want released", *s.HolderIdentity, *s.LeaseTransitions)
	}
}

func TestFailedDrainNeverReleases(t *testing.T) {
	admin, ns := home(t)
	var busy atomic.Int32
	a := hold(t, start(t, ns, "a"), &busy)
	broken := errors.New("a write is still under way")
	first := a.next(t)
	first.leave <- broken
	if err := <-a.ended; !errors.Is(err, broken) {
		t.Errorf("Hold: got %v, want what f failed with", err)
	}
	until := read(t, admin, ns).Spec.RenewTime.Add(lasts)
	if got := *read(t, admin, ns).Spec.HolderIdentity; got != "a" {
		t.Errorf("holder: got %q, want a", got)
	}
	// Under the same name, too, only its running out frees the lease.
	b := hold(t, start(t, ns, "a"), &busy)
	next := b.next(t)
	if now := time.Now(); now.Before(until) || next.number <= first.number {
		t.Errorf("term %d after %d began %v before the lease ran out", next.number, first.number, until.Sub(now))
	}
	b.stop()
	next.leave <- nil
	b.drained(t)
}

func TestLostLeaseEndsTheTermBeforeAnotherBegins(t *testing.T) {
	_, ns := home(t)
	var busy atomic.Int32
	pa := start(t, ns, "a")
	a := hold(t, pa, &busy)
	first := a.next(t)
	b := hold(t, start(t, ns, "b"), &busy)
	pa.wire.down.Store(true)
	<-first.ctx.Done()
	if got := context.Cause(first.ctx); !errors.Is(got, ErrLost) {
		t.Errorf("cause: got %v, want ErrLost", got)
	}
	select {
	case <-b.begun:
		t.Error("b began before a's term had ended")
	default:
	}
	first.leave <- first.ctx.Err()
	second := b.next(t)
	pa.wire.down.Store(false)
	b.stop()
	second.leave <- nil
	b.drained(t)
	third := a.next(t)
	if third.number <= second.number || second.number <= first.number {
		t.Errorf("terms: got %d, %d, %d, want them to grow", first.number, second.number, third.number)
	}
	a.stop()
	third.leave <- nil
	a.drained(t)
}

func TestForeignTouchesAreNoLoss(t *testing.T) {
	admin, ns := home(t)
	var busy atomic.Int32
	a := hold(t, start(t, ns, "a"), &busy)
	first := a.next(t)
	note := []byte(`{"metadata":{"annotations":{"example.com/note":"x"}}}`)
	if _, err := admin.CoordinationV1().Leases(ns).Patch(t.Context(), "linkwright", types.MergePatchType, note, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	renewedAfter(t, admin, ns, time.Now())
	if err := first.ctx.Err(); err != nil {
		t.Errorf("the term ended by an annotation: %v", err)
	}
	if err := admin.CoordinationV1().Leases(ns).Delete(t.Context(), "linkwright", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	<-first.ctx.Done()
	if got := context.Cause(first.ctx); !errors.Is(got, ErrLost) {
		t.Errorf("cause after the lease was deleted: got %v, want ErrLost", got)
	}
	a.stop()
	first.leave <- nil
	a.drained(t)
}

func TestOnce(t *testing.T) {
	_, ns := home(t)
	a, b := start(t, ns, "a"), start(t, ns, "b")
	var terms []int64
	note := func(_ context.Context, n int64) error {
		terms = append(terms, n)
		return nil
	}
	err := a.Once(t.Context(), func(ctx context.Context, n int64) error {
		err := b.Once(ctx, note)
		if !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), "a has it since 20") || !strings.Contains(err.Error(), "(if that process was killed, another can take the lease in 4s)") {
			t.Errorf("Once: got %v, want that a holds it, and how long at most if it died", err)
		}
		return note(ctx, n)
	})
	if err := errors.Join(err, b.Once(t.Context(), note), a.Once(t.Context(), note)); err != nil {
		t.Error(err)
	}
	if len(terms) != 3 || !growing(terms) {
		t.Errorf("terms: got %v, want three that grow", terms)
	}
	broken := errors.New("broken")
	if err := a.Once(t.Context(), func(context.Context, int64) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("Once: got %v, want what f failed with", err)
	}
	holder, until := "", time.Time{}
	b.Waits = func(h string, u time.Time) { holder, until = h, u }
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for err = b.Once(t.Context(), note); errors.Is(err, ErrHeld); <-tick.C { // until it ran out
		err = b.Once(t.Context(), note)
	}
	if err != nil || !growing(terms) {
		t.Errorf("Once after the lease ran out: got %v, terms %v", err, terms)
	}
	if late := time.Since(until); holder != "a" || late < 0 || late > time.Minute {
		t.Errorf("Once waits for %q until %v, want for a, and until then", holder, until)
	}
}

func growing(terms []int64) bool {
	return slices.IsSorted(terms) && len(slices.Compact(slices.Clone(terms))) == len(terms)
}

// TestTermsOutliveTheLease: what was recorded under a lease that somebody deleted is never later than the next term.
func TestTermsOutliveTheLease(t *testing.T) {
	admin, ns := home(t)
	p := start(t, ns, "a")
	var terms []int64
	note := func(_ context.Context, n int64) error {
		terms = append(terms, n)
		return nil
	}
	for range 3 {
		if err := p.Once(t.Context(), note); err != nil {
			t.Fatal(err)
		}
		name := read(t, admin, ns).Name
		if err := admin.CoordinationV1().Leases(ns).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if !growing(terms) {
		t.Errorf("terms: got %v, want them to grow", terms)
	}
}

func TestRefusalEndsHold(t *testing.T) {
	_, ns := home(t)
	p := start(t, "no-such-"+ns, "a")
	err := p.Hold(t.Context(), func(context.Context, int64) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "hold lease no-such-"+ns+"/linkwright: ") {
		t.Errorf("Hold in a namespace that is not there: got %v, want an error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := start(t, ns, "a").Hold(ctx, nil); err != nil {
		t.Errorf("Hold with an ended context: got %v, want nil", err)
	}
}
