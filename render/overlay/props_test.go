package overlay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// encodedEnds shows ends with their bytes, which print as redacted.
func encodedEnds(ends []object.Desired) []string {
	var out []string
	for _, w := range ends {
		line := w.End.String()
		if w.Blocked != nil {
			line += " blocked " + w.Blocked.Message
		}
		for _, o := range w.Objects {
			line += fmt.Sprintf("\n%s %s %x %d %s", o.Key, o.Version, o.Digest, o.Phase, o.Body.Bytes())
		}
		out = append(out, line)
	}
	return out
}

// components are bodies of Components that between them do all that an overlay can; chosen at random.
func components() []string {
	return []string{
		"labels:\n- pairs: {team: mesh}\n",
		"patches:\n- target: {kind: Deployment}\n  patch: '- {op: add, path: /spec/minReadySeconds, value: 3}'\n",
		"patches:\n- target: {kind: Deployment, name: \".*-[13]\"}\n  patch: '- {op: replace, path: /spec/replicas, value: 3}'\n",
		"patches:\n- target: {kind: Deployment, name: \".*-2\"}\n  patch: '- {op: remove, path: /spec/none}'\n",
		"patches:\n- target: {kind: Link, name: \"east-[02]\"}\n  patch: '- {op: replace, path: /metadata/name, value: mine}'\n",
		"patches:\n- target: {kind: Secret}\n  patch: '- {op: add, path: /metadata/labels/a, value: b}'\n",
		"patches:\n- target: {kind: Service, name: probe-east-1}\n  patch: \"{apiVersion: v1, kind: Service, metadata: {name: any}, $patch: delete}\"\n",
		"resources: [policy.yaml]\nlabels:\n- pairs: {team: mesh}\n  fields: [{path: spec/podSelector/matchLabels, create: true}]\n",
		"resources: [policy.yaml]\nreplacements:\n- source: {kind: NetworkPolicy, fieldPath: metadata.name}\n  targets: [{select: {kind: Deployment}, fieldPaths: [spec.template.spec.priorityClassName], options: {create: true}}]\n",
		"namespace: other\n",
		"nameSuffix: -x\n",
		"images: [{name: cr.l5d.io/linkerd/controller, newTag: mine}]\n",
	}
}

const policy = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: mine}\nspec: {podSelector: {matchLabels: {a: b}}}\n"

// TestBatch: ends built together become what each becomes alone, in whatever order and company they come.
func TestBatch(t *testing.T) {
	all := scene(t, 5)
	for _, kustomization := range components() {
		want := map[object.End]string{}
		for _, w := range all {
			a := newApplier(&direct{}, DefaultKinds())
			out := a.Apply(t.Context(), in([]object.Desired{w}, kustomization, "policy.yaml", policy))
			want[w.End] = encodedEnds(out.Ends)[0]
		}
		for seed := range uint64(3) {
			r := rand.New(rand.NewPCG(seed, 2))
			ends := slices.Clone(all)
			r.Shuffle(len(ends), func(i, j int) { ends[i], ends[j] = ends[j], ends[i] })
			ends = ends[:1+r.IntN(len(ends))]
			a := newApplier(&direct{wide: 2}, DefaultKinds())
			out := a.Apply(t.Context(), in(ends, kustomization, "policy.yaml", policy))
			if len(out.Problems) > 0 {
				t.Fatalf("Apply(%s): %v", kustomization, out.Problems)
			}
			for i, got := range encodedEnds(out.Ends)[:len(ends)] {
				if diff := cmp.Diff(want[ends[i].End], got); diff != "" && !ends[i].End.IsBase() {
					t.Errorf("Apply(%s) of %d ends: %s: -alone +together\n%s", kustomization, len(ends), ends[i].End, diff)
				}
			}
			bounded(t, ends, out)
		}
	}
}

// bounded: no keys but those that came in and those of the base; none twice.
func bounded(t *testing.T, before []object.Desired, out Output) {
	t.Helper()
	seen := map[object.Key]bool{}
	for i, w := range out.Ends {
		for j, o := range w.Objects {
			if seen[o.Key] {
				t.Errorf("%s is there twice", o.Key)
			}
			seen[o.Key] = true
			rendered := i < len(before) && j < len(before[i].Objects)
			switch {
			case rendered && o.Key != before[i].Objects[j].Key:
				t.Errorf("%s became %s", before[i].Objects[j].Key, o.Key)
			case !rendered && (!w.End.IsBase() || o.Phase != object.PhaseExtras):
				t.Errorf("%s came into %s", o.Key, w.End)
			}
		}
	}
}

// TestUnchanged: what the Component does not change is the very same, to the byte.
func TestUnchanged(t *testing.T) {
	ends := scene(t, 3)
	for _, kustomization := range []string{
		"resources: [policy.yaml]\n",
		"labels:\n- pairs: {linkwright.dev/owner: linkwright}\n",
		"patches:\n- target: {kind: Deployment}\n  patch: '- {op: test, path: /kind, value: Deployment}'\n",
		"patches:\n- target: {kind: Ingress}\n  patch: '- {op: remove, path: /spec}'\n",
		"images: [{name: other, newTag: mine}]\n",
	} {
		a := newApplier(&direct{}, DefaultKinds())
		out := a.Apply(t.Context(), in(ends, kustomization, "policy.yaml", policy))
		if diff := cmp.Diff(encodedEnds(ends)[:len(ends)-1], encodedEnds(out.Ends)[:len(ends)-1]); diff != "" {
			t.Errorf("Apply(%s): -want +got\n%s", kustomization, diff)
		}
	}
}

// TestNoSecretEnters: nothing of a Secret's content is in any job, whatever the Component does.
func TestNoSecretEnters(t *testing.T) {
	ends := scene(t, 3)
	if len(withCanary(ends)) == 0 {
		t.Fatal("the canary is in no Secret: this test sees nothing")
	}
	for _, kustomization := range components() {
		d := &direct{}
		out := newApplier(d, DefaultKinds()).Apply(t.Context(), in(ends, kustomization, "policy.yaml", policy))
		for _, j := range d.jobs {
			for _, r := range j.Resources {
				if holdsCanary(r) {
					t.Fatalf("Apply(%s): a secret enters: %s", kustomization, r)
				}
			}
		}
		kept := slices.DeleteFunc(slices.Clone(ends), func(w object.Desired) bool {
			return slices.ContainsFunc(out.Ends, func(o object.Desired) bool { return o.End == w.End && o.Blocked != nil })
		})
		if diff := cmp.Diff(withCanary(kept), withCanary(out.Ends)); diff != "" {
			t.Errorf("Apply(%s): where the secret is: -want +got\n%s", kustomization, diff)
		}
	}
}

// withCanary returns the objects that hold the canary.
func withCanary(ends []object.Desired) []string {
	var out []string
	for _, w := range ends {
		for _, o := range w.Objects {
			if holdsCanary(o.Body.Bytes()) {
				out = append(out, o.Key.String())
			}
		}
	}
	return out
}

// holdsCanary looks for the canary as it is and in base64, at each of the three places it can begin at.
func holdsCanary(b []byte) bool {
	for _, text := range []string{canary, "dG9rZW4tdGhhdC1tdXN0", "b2tlbi10aGF0LW11c3Qtbm90", "a2VuLXRoYXQtbXVzdC1ub3Q"} {
		if bytes.Contains(b, []byte(text)) {
			return true
		}
	}
	return false
}

// TestBlockedEndsAreUnchanged: an end that was held comes out as it was, also where the Component is wrong.
func TestBlockedEndsAreUnchanged(t *testing.T) {
	held := object.Desired{End: object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "far"}}, Blocked: object.Because(reason.Unknown, "not read")}
	for _, kustomization := range []string{"labels:\n- pairs: {team: mesh}\n", "resources: [gone.yaml]\n"} {
		out := newApplier(&direct{}, DefaultKinds()).Apply(t.Context(), in([]object.Desired{held}, kustomization))
		if diff := cmp.Diff([]object.Desired{held}, out.Ends); diff != "" {
			t.Errorf("Apply(%s): -want +got\n%s", kustomization, diff)
		}
	}
}

// TestNarrow: where a Component only patches, nothing else is built, and an end without anything to patch not at all.
func TestNarrow(t *testing.T) {
	ends := scene(t, 6)
	d := &direct{}
	newApplier(d, DefaultKinds()).Apply(t.Context(), in(ends, "patches:\n- target: {kind: Deployment, name: .*-3}\n  patch: '- {op: add, path: /spec/minReadySeconds, value: 3}'\n"))
	total := 0
	for _, j := range d.jobs {
		total += len(j.Resources)
	}
	if total != 1 || len(d.jobs) != 2 {
		t.Errorf("Apply: %d objects in %d builds, want one, beside the base", total, len(d.jobs))
	}
}

// TestBlockedBase: extras stay out of a base that is held.
func TestBlockedBase(t *testing.T) {
	base := object.Desired{End: object.End{Cluster: "west"}, Blocked: object.Because(reason.Unknown, "not read")}
	out := newApplier(&direct{}, DefaultKinds()).Apply(t.Context(), in([]object.Desired{base}, "resources: [policy.yaml]\n", "policy.yaml", policy))
	if diff := cmp.Diff([]object.Desired{base}, out.Ends); diff != "" {
		t.Errorf("Apply: -want +got\n%s", diff)
	}
}

// TestRemembers: what was built once is not built again; after a change of one end only that one is.
func TestRemembers(t *testing.T) {
	ends := scene(t, 9)
	d := &direct{}
	a := newApplier(d, DefaultKinds())
	kustomization := components()[0]
	first := a.Apply(t.Context(), in(ends, kustomization))
	builds := len(d.jobs)
	second := a.Apply(t.Context(), in(ends, kustomization))
	if len(d.jobs) != builds {
		t.Errorf("Apply again: %d more builds, want none", len(d.jobs)-builds)
	}
	if diff := cmp.Diff(encodedEnds(first.Ends), encodedEnds(second.Ends)); diff != "" {
		t.Errorf("Apply again: -first +second\n%s", diff)
	}
	changed := slices.Clone(ends)
	changed[3].Objects = slices.Clone(changed[3].Objects)
	o := changed[3].Objects[0]
	content := content(t, o)
	content["metadata"].(map[string]any)["annotations"] = map[string]any{"a": "b"}
	o, err := object.Seal(object.Spec{Key: o.Key, Version: o.Version, Phase: o.Phase, Owner: object.DefaultOwner}, content)
	if err != nil {
		t.Fatal(err)
	}
	changed[3].Objects[0] = o
	a.Apply(t.Context(), in(changed, kustomization))
	if got := d.jobs[builds:]; len(got) != 1 || len(got[0].Resources) != len(changed[3].Objects) {
		t.Errorf("Apply after one end changed: %d builds, want one of that end", len(got))
	}
	for what, other := range map[string]Input{
		"another Component": in(ends, components()[1]),
		"another namespace": func() Input { i := in(ends, kustomization); i.Namespace = "other"; return i }(),
		"another owner":     func() Input { i := in(ends, kustomization); i.Owner = "blue"; return i }(),
	} {
		builds = len(d.jobs)
		if a.Apply(t.Context(), other); len(d.jobs) == builds {
			t.Errorf("Apply with %s: nothing was built", what)
		}
	}
}

// TestLRUCacheIsBounded: it forgets what was used longest ago, and keeps nothing that is larger than its bound.
func TestLRUCacheIsBounded(t *testing.T) {
	m := newLRUCache[int](3 * entryOverhead)
	for i := range 3 {
		m.put(inputHash{byte(i)}, i, 0)
	}
	m.get(inputHash{0})
	m.put(inputHash{3}, 3, 0)
	m.put(inputHash{4}, 4, 4*entryOverhead)
	var got []int
	for i := range 5 {
		if v, ok := m.get(inputHash{byte(i)}); ok {
			got = append(got, v)
		}
	}
	if diff := cmp.Diff([]int{0, 2, 3}, got); diff != "" {
		t.Errorf("recent: -want +got\n%s", diff)
	}
	if len(m.byKey) != m.order.Len() || m.size > m.limit {
		t.Errorf("recent: %d keys, %d entries, %d bytes", len(m.byKey), m.order.Len(), m.size)
	}
}

// TestFailingBuilds: a cage that fails holds the ends and is asked again at the next call.
func TestFailingBuilds(t *testing.T) {
	ends := scene(t, 30)
	broken := errors.New("out of memory")
	d := &direct{fail: func(j job) error {
		if len(j.Resources) > 0 {
			return broken
		}
		return nil
	}}
	a := newApplier(d, DefaultKinds())
	out := a.Apply(t.Context(), in(ends, components()[0]))
	for _, w := range out.Ends {
		if !w.End.IsBase() && (w.Blocked == nil || w.Blocked.Code != reason.OverlayInvalid) {
			t.Errorf("%s is not held", w.End)
		}
	}
	d.fail = nil
	out = a.Apply(t.Context(), in(ends, components()[0]))
	for _, w := range out.Ends {
		if w.Blocked != nil {
			t.Errorf("%s is still held: %s", w.End, w.Blocked.Message)
		}
	}
}

// TestCancelled: a call that is given up holds the ends, and starts nothing more.
func TestCancelled(t *testing.T) {
	ends := scene(t, 8)
	ctx, cancel := context.WithCancel(t.Context())
	d := &direct{fail: func(j job) error {
		if len(j.Resources) > 0 {
			cancel()
		}
		return ctx.Err()
	}}
	out := newApplier(d, DefaultKinds()).Apply(ctx, in(ends, components()[0]))
	for _, w := range out.Ends {
		if !w.End.IsBase() && w.Blocked == nil {
			t.Errorf("%s is not held", w.End)
		}
	}
}

func TestParseKinds(t *testing.T) {
	for _, tt := range []struct{ words, want, wrong string }{
		{words: "", want: "none"},
		{words: "NetworkPolicy", want: "NetworkPolicy"},
		{words: "NetworkPolicy NetworkPolicy.networking.k8s.io", want: "NetworkPolicy"},
		{words: "policy.linkerd.io Thing.example.com ConfigMap", want: "policy.linkerd.io, Thing.example.com, ConfigMap"},
		{words: "Nothing", wrong: "does not know this kind"},
		{words: "networkpolicy", wrong: "neither a Kind"},
		{words: "monitoring.coreos.com", wrong: "is allowed as a whole group"},
		{words: "Prometheus.monitoring.coreos.com", wrong: "runs any program"},
		{words: "Kind.Not_A_Group", wrong: "its group is not a valid name"},
		{words: "Role", wrong: "grants rights"},
		{words: "ClusterRoleBinding", wrong: "grants rights"},
		{words: "rbac.authorization.k8s.io", wrong: "grants rights"},
		{words: "Any.admissionregistration.k8s.io", wrong: "whole cluster"},
		{words: "CustomResourceDefinition", wrong: "whole cluster"},
		{words: "APIService", wrong: "whole cluster"},
		{words: "Namespace", wrong: "whole cluster"},
		{words: "Secret", wrong: "secrets"},
		{words: "ServiceAccount", wrong: "secrets"},
		{words: "ExternalSecret", wrong: "secrets"},
		{words: "Pod", wrong: "runs any program"},
		{words: "Deployment", wrong: "runs any program"},
		{words: "CronJob", wrong: "runs any program"},
		{words: "Anything.batch", wrong: "runs any program"},
		{words: "Kustomization.kustomize.toolkit.fluxcd.io", wrong: "another tool"},
		{words: "Link", wrong: "Linkerd writes it"},
		{words: "Service", wrong: "Linkerd writes it"},
	} {
		k, err := ParseKinds(strings.Fields(tt.words))
		switch {
		case tt.wrong == "" && (err != nil || k.String() != tt.want):
			t.Errorf("ParseKinds(%s): %s, %v, want %s", tt.words, k, err, tt.want)
		case tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)):
			t.Errorf("ParseKinds(%s): %v, want %s", tt.words, err, tt.wrong)
		}
	}
	again, err := ParseKinds(DefaultKinds().Words())
	if err != nil || again.String() != DefaultKinds().String() {
		t.Errorf("ParseKinds of the default words: %s, %v", again, err)
	}
	if _, err := ParseKinds([]string{""}); err == nil {
		t.Error("ParseKinds takes an empty word")
	}
}
