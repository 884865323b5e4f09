package controller_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/hack/testbed"
)

// TestGateway: the addresses of mirrors are ready while the gateway answers. Another process does not take a dead gateway for alive.
func TestGateway(t *testing.T) {
	b := newBed(t)
	b.createLink(nil)
	stop := b.run(b.options(b.agent))
	b.export("web", b.exported())
	b.mirrored("web-"+b.link, true)
	b.gateway.set(true)
	b.mirrored("web-"+b.link, false)
	stop()
	since := time.Now()
	b.run(b.options(b.agent + "-again"))
	b.export("later", b.exported())
	b.mirrored("later-"+b.link, false)
	for _, w := range b.written(b.agent+"-again", since) {
		if strings.HasSuffix(w, " web-"+b.link) {
			t.Errorf("%s: want it left as it was", w)
		}
	}
	b.gateway.set(false)
	b.mirrored("web-"+b.link, true)
	b.mirrored("later-"+b.link, true)
	b.editLink(func(spec map[string]any) { spec["gatewayAddress"] = "192.0.2.77" })
	b.eventually(func() error {
		e, err := b.west.CoreV1().Endpoints(b.ns).Get(t.Context(), "web-"+b.link, metav1.GetOptions{})
		if err == nil && (len(e.Subsets) != 1 || len(e.Subsets[0].Addresses) != 1 || e.Subsets[0].Addresses[0].IP != "192.0.2.77") {
			err = fmt.Errorf("addresses: %v", e.Subsets)
		}
		return err
	})
}

// TestHandOver: of two processes one writes. The other takes over as soon as it ends, and nothing is deleted, made anew or not ready meanwhile.
func TestHandOver(t *testing.T) {
	b := newBed(t)
	b.createLink(nil)
	stop := b.run(b.options(b.agent))
	b.export("web", b.exported())
	b.mirrored("web-"+b.link, true)
	b.condition("mirrorServices", "web", "True Mirrored")
	before, err := b.service("web-" + b.link)
	b.ok(nil, err)
	b.run(b.options(b.agent + "-standby"))
	time.Sleep(time.Second)
	if got := b.written(b.agent+"-standby", time.Time{}); len(got) > 0 {
		t.Errorf("the standby wrote %v", got)
	}
	stop()
	begun := time.Now()
	b.export("later", b.exported())
	b.mirrored("later-"+b.link, true)
	t.Logf("the standby mirrored a new export %v after the leader ended", time.Since(begun).Round(time.Millisecond))
	after, err := b.service("web-" + b.link)
	if err != nil || after.UID != before.UID || after.ResourceVersion != before.ResourceVersion {
		t.Errorf("mirror after the hand-over: %v, %v, want it as before", after, err)
	}
}

// TestCredentials: a new credential takes effect without a restart. One that does not work changes nothing, and the log names it.
func TestCredentials(t *testing.T) {
	b := newBed(t)
	b.createLink(nil)
	var log buffer
	o := b.options(b.agent)
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	b.run(o)
	b.export("web", b.exported())
	b.mirrored("web-"+b.link, true)
	agent := "linkwright-mirror/" + b.link
	good, err := os.ReadFile(planes.Cluster("east").Kubeconfig)
	b.ok(nil, err)

	for _, bad := range [][]byte{[]byte("no kubeconfig"), bytes.ReplaceAll(good, []byte("127.0.0.1:"), []byte("127.0.0.1:1")), {}} {
		b.putSecret(bad)
		b.eventually(func() error { return log.contains("target cannot be read") })
		log.reset()
		name := fmt.Sprint("with-bad-", len(bad))
		b.export(name, b.exported())
		b.mirrored(name+"-"+b.link, true)
	}
	b.ok(nil, b.west.CoreV1().Secrets(testbed.Multicluster).Delete(t.Context(), "cluster-credentials-"+b.link, metav1.DeleteOptions{}))
	b.eventually(func() error { return log.contains("is missing") })

	since := time.Now()
	b.putSecret(append(good, []byte("\n# rotated\n")...))
	b.eventually(func() error {
		if got := b.requests("east", agent, since); len(got) < 3 {
			return fmt.Errorf("requests with the new credential: %v", got)
		}
		return log.contains("target is read again")
	})
	b.export("later", b.exported())
	b.mirrored("later-"+b.link, true)
	for _, w := range b.written(b.agent, time.Time{}) {
		if strings.HasPrefix(w, "delete ") {
			t.Errorf("%s: want that no mirror is deleted", w)
		}
	}
}

// TestMissingLink: the log names a link that was asked for and does not exist.
func TestMissingLink(t *testing.T) {
	b := newBed(t)
	b.createLink(nil)
	var log buffer
	o := b.options(b.agent)
	o.Log, o.Links = slog.New(slog.NewTextHandler(&log, nil)), []string{b.link, "no-such-link"}
	b.run(o)
	const warning = `msg="link not found: it is mirrored as soon as it exists" link=`
	b.eventually(func() error { return log.contains(warning + "no-such-link") })
	if log.contains(warning+b.link) == nil {
		t.Error("the log warns of a link that exists")
	}
}

// TestDrain: a Link that selects nothing any more has no mirrors, also if its target cannot be reached. Without its Link, nothing is written.
func TestDrain(t *testing.T) {
	b := newBed(t)
	b.createLink(nil)
	stop := b.run(b.options(b.agent))
	b.export("web", b.exported())
	b.export("both", b.member())
	b.mirrored("web-"+b.link, true)
	b.condition("federatedServices", "both", "True Mirrored")
	stop()
	b.putSecret([]byte("no kubeconfig"))
	b.run(b.options(b.agent + "-again"))
	b.editLink(func(spec map[string]any) { spec["excludedLabels"] = []any{"example.com/team"} })
	time.Sleep(500 * time.Millisecond)
	b.mirrored("web-"+b.link, true)
	b.editLink(func(spec map[string]any) {
		for _, s := range []string{"selector", "remoteDiscoverySelector", "federatedServiceSelector"} {
			delete(spec, s)
		}
	})
	b.gone("web-" + b.link)
	b.gone("both-federated")
	b.condition("mirrorServices", "web", "")
	b.ok(nil, b.links().Delete(t.Context(), b.link, metav1.DeleteOptions{}))
	b.released()
	if _, err := b.west.CoreV1().Endpoints(testbed.Multicluster).Get(t.Context(), "probe-"+b.link, metav1.GetOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

// buffer is a log that a test reads.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) contains(want string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !strings.Contains(b.text.String(), want) {
		return fmt.Errorf("the log does not contain %q:\n%s", want, b.text.String())
	}
	return nil
}

func (b *buffer) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Reset()
}
