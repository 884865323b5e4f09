package main

import (
	"slices"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/sync/access"
)

func TestLocksAreInOneOrder(t *testing.T) {
	tests := []struct{ only, want []string }{
		{nil, []string{"linkwright-us"}},
		{[]string{"west"}, []string{"linkwright-us-west"}},
		{[]string{"west", "east", "west"}, []string{"linkwright-us-east", "linkwright-us-west"}},
		{[]string{"east", "west"}, []string{"linkwright-us-east", "linkwright-us-west"}},
	}
	clusters, err := access.Open(t.Context(), &rest.Config{Host: "https://192.0.2.1"}, access.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer clusters.Close(t.Context())
	e := &engine{clusters: clusters}
	for _, tt := range tests {
		locks, err := e.locks(&homeFlags{owner: "us", only: tt.only})
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
