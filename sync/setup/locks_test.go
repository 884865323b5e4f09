package setup

import (
	"slices"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/access"
)

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
