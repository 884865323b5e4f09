package api

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// each gives every field below one, with its path.
func each(f Field, path string, visit func(path string, f Field)) {
	visit(path, f)
	for _, below := range f.Below() {
		each(below, path+"."+below.Name, visit)
	}
}

func eachKind(t *testing.T, visit func(path string, f Field)) {
	t.Helper()
	for _, name := range Kinds() {
		f, err := Declaration(name)
		if err != nil {
			t.Fatal(err)
		}
		each(f, name, visit)
	}
}

func TestEveryFieldIsDescribed(t *testing.T) {
	eachKind(t, func(path string, f Field) {
		if len(f.Description) < 10 {
			t.Errorf("%s is not described: give the Go field a comment, then make generate", path)
		}
	})
}

// All defaults, as people find them.
func TestFieldDefaults(t *testing.T) {
	got := map[string]any{}
	eachKind(t, func(path string, f Field) {
		if f.Default != nil && f.Default != false && !strings.Contains(path, "template") {
			got[path] = f.Default
		}
	})
	want := map[string]any{
		"Cluster.spec.access.kubeconfigSecret.key":         "kubeconfig",
		"Cluster.spec.linkerd.namespace":                   "linkerd",
		"Cluster.spec.linkerd.multiclusterNamespace":       "linkerd-multicluster",
		"Cluster.spec.gateway.enabled":                     true,
		"Cluster.spec.gateway.name":                        "linkerd-gateway",
		"Cluster.spec.state":                               "Active",
		"Link.spec.controller.mode":                        "PerLink",
		"Link.spec.controller.replicas":                    int64(1),
		"Link.spec.controller.logLevel":                    "info",
		"Link.spec.credentials.mode":                       "LegacyToken",
		"Link.spec.credentials.preflight":                  "Warn",
		"Link.spec.trustAnchors":                           "Warn",
		"Mesh.spec.topology":                               "Full",
		"ProxyConfig.spec.rollout.maxUnavailableWorkloads": int64(5),
		"ProxyConfig.spec.rollout.perNamespace":            int64(1),
		"ProxyConfig.spec.rollout.pauseOnFailure":          true,
		"ProxyConfig.spec.rollout.detection":               "DryRun",
		"SyncPolicy.spec.interval":                         "1m",
		"SyncPolicy.spec.prune.policy":                     "Sync",
		"SyncPolicy.spec.prune.maxClusters":                int64(1),
		"SyncPolicy.spec.prune.maxLinks":                   "30%",
		"SyncPolicy.spec.prune.maxMirrors":                 "50%",
		"SyncPolicy.spec.prune.minAllowed":                 int64(2),
		"SyncPolicy.spec.prune.drainDeadline":              "5m",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults: -want +got\n%s", diff)
	}
}

func TestFind(t *testing.T) {
	for path, want := range map[string]string{
		"Cluster":                               "object required",
		"cluster.metadata.labels":               "map",
		"LINK.spec.source":                      "string required",
		"link.spec.controller.mode":             "string PerLink Shared External",
		"mesh.spec.except.source":               "string required",
		"mesh.spec.template.suspend":            "boolean",
		"mesh.spec.hubs.matchExpressions":       "list",
		"link.spec.controller.resources.limits": "map",
		"syncpolicy.metadata":                   "object",
		"syncpolicy.kind":                       "string required SyncPolicy",

		"clusters":               `there is no kind "clusters" (did you mean Cluster?)`,
		"x":                      `there is no kind "x" (use one of Cluster, Link, Mesh, ProxyConfig, SyncPolicy)`,
		"link.spec.controler":    "Link.spec.controler: unknown field (did you mean controller?)",
		"mesh.spec.except.x":     "Mesh.spec.except.x: unknown field (use one of source, target)",
		"link.spec.source.x.y":   "Link.spec.source.x: unknown field (it has no fields)",
		"cluster.metadata.Names": "Cluster.metadata.Names: unknown field (did you mean name?)",
	} {
		if got := found(path); got != want {
			t.Errorf("Find(%s): -want +got\n-%s\n+%s", path, want, got)
		}
	}
}

func found(path string) string {
	names := strings.Split(path, ".")
	f, err := Declaration(names[0])
	if err == nil {
		f, err = f.Find(names[1:]...)
	}
	if err != nil {
		return err.Error()
	}
	out := []string{f.Type}
	if f.Required {
		out = append(out, "required")
	}
	for _, w := range f.Words {
		out = append(out, w.Name)
	}
	return strings.Join(out, " ")
}

// Of a word that is the default, the meaning says so, and of no other.
func TestDefaultWords(t *testing.T) {
	eachKind(t, func(path string, f Field) {
		for _, w := range f.Words {
			if w.Meaning != "" && strings.Contains(w.Meaning, "is the default") != (w.Name == f.Default) {
				t.Errorf("%s: %s %s", path, w.Name, w.Meaning)
			}
		}
	})
}

// A key of a table that names no field is a mistake.
func TestEveryKeyCounts(t *testing.T) {
	without := func(limit, example string) []Field {
		w := walker{limits(), examples()}
		delete(w.limits, limit)
		delete(w.examples, example)
		var out []Field
		for _, k := range kinds() {
			out = append(out, w.kind(k))
		}
		return out
	}
	all := without("", "")
	for key := range limits() {
		if reflect.DeepEqual(all, without(key, "")) {
			t.Errorf("limits of %s are nobody's", key)
		}
	}
	for key := range examples() {
		if reflect.DeepEqual(all, without("", key)) {
			t.Errorf("examples of %s are nobody's", key)
		}
	}
}
