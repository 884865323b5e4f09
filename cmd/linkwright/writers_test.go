package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync/access"
)

// leaseServer serves Leases by name, and lists them if lists is set.
type leaseServer struct {
	leases map[string]string // by name
	lists  bool
}

func (s leaseServer) RoundTrip(q *http.Request) (*http.Response, error) {
	to := httptest.NewRecorder()
	to.Header().Set("Content-Type", "application/json")
	const all = "/apis/coordination.k8s.io/v1/namespaces/linkwright/leases"
	name := strings.TrimPrefix(q.URL.Path, all+"/")
	one, found := s.leases[name]
	switch {
	case q.URL.Path == "/apis/coordination.k8s.io/v1":
		_, _ = fmt.Fprint(to, `{"kind":"APIResourceList","groupVersion":"coordination.k8s.io/v1","resources":[{"name":"leases","kind":"Lease","namespaced":true}]}`)
	case q.URL.Path == all && s.lists:
		items := slices.Sorted(func(yield func(string) bool) {
			for _, l := range s.leases {
				if !yield(l) {
					return
				}
			}
		})
		_, _ = fmt.Fprintf(to, `{"kind":"LeaseList","apiVersion":"coordination.k8s.io/v1","metadata":{"resourceVersion":"5"},"items":[%s]}`, strings.Join(items, ","))
	case q.URL.Path == all:
		to.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(to, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"it is forbidden","reason":"Forbidden","code":403}`)
	case found:
		_, _ = fmt.Fprint(to, one)
	default:
		to.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprintf(to, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not found","reason":"NotFound","details":{"name":%q},"code":404}`, name)
	}
	return to.Result(), nil
}

// leaseText is a lease as it is served.
func leaseText(name, about, holder, last string) string {
	return fmt.Sprintf(`{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":%q,"namespace":"linkwright","uid":%q,"resourceVersion":"5",
		"annotations":{"linkwright.dev/lease-of":%q,%s}},"spec":{"holderIdentity":%q,"renewTime":"2026-11-22T15:04:05.000000Z","leaseDurationSeconds":15}}`,
		name, name, about, last, holder)
}

// A process with --only-write whose cluster is not in the record is listed if Leases may be listed; else those of the record are.
func TestWriters(t *testing.T) {
	const of, synced = "--owner linkwright --only-write ", `"linkwright.dev/last-sync":"2026-11-22T15:04:05Z cron"`
	s := leaseServer{leases: map[string]string{}}
	for _, l := range []struct{ name, about, holder, last string }{
		{"linkwright-linkwright", "--owner linkwright", "whole", `"a":"b"`},
		{"linkwright-linkwright-west", of + "west", "", synced},
		{"linkwright-linkwright-old", of + "old", "", synced}, // of a cluster that left
		{"linkwright-linkwright-new", of + "new", "dead", `"a":"b"`},
		{"linkwright-linkwright-x-new", "--owner linkwright-x --only-write new", "other", `"a":"b"`},
		{"copy", of + "new", "copied", `"a":"b"`},
	} {
		s.leases[l.name] = leaseText(l.name, l.about, l.holder, l.last)
	}
	for lists, want := range map[bool]string{true: "new dead;west ", false: "west "} {
		s.lists = lists
		if got := s.writersOf(t, "west", "east"); got != want {
			t.Errorf("may list %t: %q, want %q", lists, got, want)
		}
	}
	if s.lists = true; s.writersOf(t) != "new dead" {
		t.Error("without a cluster in the record")
	}
}

// writersOf are the writers that status lists, with their holders.
func (s leaseServer) writersOf(t *testing.T, recorded ...api.ClusterName) string {
	t.Helper()
	cfg := &rest.Config{Host: "http://home.invalid"}
	cfg.Wrap(func(http.RoundTripper) http.RoundTripper { return s })
	clusters, err := access.Open(t.Context(), cfg, access.Options{Owner: "linkwright", Namespace: "linkwright", Timeout: 10 * time.Second, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer clusters.Close(context.WithoutCancel(t.Context()))
	c := installed{Clusters: clusters, owner: "linkwright", namespace: "linkwright"}
	var out []string
	for _, l := range c.writers(t.Context(), recorded) {
		out = append(out, string(l.Only)+" "+l.Holder)
	}
	return strings.Join(out, ";")
}
