package testbed

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// namespace makes one named after the test, for it alone.
func namespace(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	name := strings.ToLower(t.Name())
	_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	return name
}

func eventually(t *testing.T, ask func() error) {
	t.Helper()
	if err := poll(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
}

func TestRequestsOfOneAgent(t *testing.T) {
	Need(t)
	c := sharedClusters.Cluster("west")
	client := kubernetes.NewForConfigOrDie(c.As("counted/1"))
	other := kubernetes.NewForConfigOrDie(c.As("other"))
	ns := namespace(t, other)
	maps := client.CoreV1().ConfigMaps(ns)
	if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "one"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Get(t.Context(), "none", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	watch, err := maps.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watch.Stop()
	if err := maps.Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := c.Requests("counted/")
	if err != nil {
		t.Fatal(err)
	}
	want := []Request{
		{Verb: "create", Name: "one", Code: 201},
		{Verb: "get", Name: "none", Code: 404},
		{Verb: "watch", Code: 200},
		{Verb: "delete", Name: "one", Code: 200},
	}
	if len(got) != len(want) {
		t.Fatalf("Requests: %d requests, want %d: %+v", len(got), len(want), got)
	}
	for i, w := range want {
		w.Resource, w.Namespace, w.User, w.UserAgent, w.Received = "configmaps", ns, "testbed:admin", "counted/1", got[i].Received
		if got[i] != w {
			t.Errorf("Requests[%d]: %+v, want %+v", i, got[i], w)
		}
	}
}

func TestRequestsOmitTheClusterItself(t *testing.T) {
	Need(t)
	requests, err := sharedClusters.Cluster("west").Requests("")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		if r.User != "testbed:admin" && !strings.HasPrefix(r.User, "system:serviceaccount:") {
			t.Errorf("request of %s: %+v", r.User, r)
		}
	}
}

// A line that the server is writing is read once it is whole, and what was read is not read again.
func TestAuditStopsAtAnUnfinishedLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var a audit
	for _, tt := range []struct {
		more string
		want []string
	}{
		{`{"auditID":"1","verb":"get","userAgent":"a"}` + "\n" + `{"auditID":"2","verb":"li`, []string{"get"}},
		{`st"}` + "\n" + `{"auditID":"1","verb":"get"}` + "\n", []string{"get", "list"}},
	} {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = file.WriteString(tt.more)
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		err = a.read(path)
		var got []string
		for _, r := range a.all {
			got = append(got, r.Verb)
		}
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("after %q: %q, %v, want %q", tt.more, got, err, tt.want)
		}
	}
}

func TestPauseAndResume(t *testing.T) {
	Need(t)
	c := sharedClusters.Cluster("north")
	client := kubernetes.NewForConfigOrDie(c.Config)
	ask := func(patience time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := client.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
		return err
	}
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := ask(500 * time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ask a paused cluster: %v, want no answer in time", err)
	}
	if err := c.Resume(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return ask(5 * time.Second) })
}
