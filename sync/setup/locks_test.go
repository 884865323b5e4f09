package setup

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/access"
	"github.com/linkwright/linkwright/sync/lease"
)

// A lease that cannot be taken because nothing answers: the error names the cluster and what to do, and comes after the timeout of a request.
func TestNobodyAnswers(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close() //nolint:errcheck // only a test
	clusters, err := access.Open(t.Context(), &rest.Config{Host: "http://" + silent.Addr().String()}, access.Options{Timeout: 100 * time.Millisecond, Chosen: "context west"})
	if err != nil {
		t.Fatal(err)
	}
	defer clusters.Close(t.Context())
	e := &Engine{Clusters: clusters, Loop: &sync.Loop{Options: sync.Options{Owner: "us"}}}
	locks, err := e.Locks()
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	err = e.Lead(t.Context(), locks, lease.Lock.Once, func(context.Context, int64) error { return nil })
	if err == nil || !strings.HasPrefix(err.Error(), "the management cluster (context west) does not answer: take lease /linkwright-us: ") {
		t.Errorf("Lead: got %v", err)
	}
	if took := time.Since(begun); took > lease.DefaultRenew/2 {
		t.Errorf("Lead took %v", took)
	}
}

// Before access was given there is no namespace for the lease: the error names the command that creates it.
func TestNoNamespace(t *testing.T) {
	clusters, err := access.Open(t.Context(), &rest.Config{Host: "https://192.0.2.1"}, access.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer clusters.Close(t.Context())
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "linkwright")
	locked := func(lease.Lock, context.Context, func(context.Context, int64) error) error { return missing }
	err = (&Engine{Clusters: clusters}).Lead(t.Context(), []lease.Lock{{}}, locked, nil)
	if err == nil || !strings.Contains(err.Error(), "run linkwright cluster add --all PATH") {
		t.Errorf("Lead: got %v", err)
	}
}

func TestLocksAreInOneOrder(t *testing.T) {
	clusters, err := access.Open(t.Context(), &rest.Config{Host: "https://192.0.2.1"}, access.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer clusters.Close(t.Context())
	e := &Engine{Clusters: clusters, Loop: &sync.Loop{Options: sync.Options{Owner: "us"}}}
	tests := []struct {
		only []api.ClusterName
		want []string
	}{
		{nil, []string{"linkwright-us"}},
		{[]api.ClusterName{"west"}, []string{"linkwright-us-west"}},
		{[]api.ClusterName{"west", "east", "west"}, []string{"linkwright-us-east", "linkwright-us-west"}},
		{[]api.ClusterName{"east", "west"}, []string{"linkwright-us-east", "linkwright-us-west"}},
	}
	for _, tt := range tests {
		locks, err := e.Locks(tt.only...)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range locks {
			got = append(got, l.Name)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("locks(%v): got %v, want %v", tt.only, got, tt.want)
		}
	}
}
