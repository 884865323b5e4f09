package overlay

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/object"
)

const benchPatch = "patches:\n- target: {kind: Deployment}\n  patch: '- {op: add, path: /spec/minReadySeconds, value: 3}'\nlabels:\n- pairs: {team: mesh}\n"

func benchCage(b *testing.B) *Sandbox {
	b.Helper()
	c := New(Options{})
	b.Cleanup(func() {
		if err := c.Close(); err != nil {
			b.Error(err)
		}
	})
	return c
}

// BenchmarkSmall: 20 clusters with an overlay and a link each, the start of the processes included.
func BenchmarkSmall(b *testing.B) {
	ends := scene(b, 1)
	for b.Loop() {
		c := New(Options{})
		a := NewApplier(c, DefaultKinds())
		for i := range 20 {
			check(b, a.Apply(b.Context(), in(ends, fmt.Sprintf("labels:\n- pairs: {number: n%d}\n", i)+"resources: [policy.yaml]\n", "policy.yaml", policy)))
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirst: 1,000 links of about ten objects each, nothing remembered.
func BenchmarkFirst(b *testing.B) {
	ends := scene(b, 1000)
	c := benchCage(b)
	for b.Loop() {
		check(b, NewApplier(c, DefaultKinds()).Apply(b.Context(), in(ends, benchPatch)))
	}
}

// BenchmarkFirstPatched: the same of a Component that only patches one object of each link.
func BenchmarkFirstPatched(b *testing.B) {
	ends := scene(b, 1000)
	c := benchCage(b)
	patches, _, _ := strings.Cut(benchPatch, "labels:")
	for b.Loop() {
		check(b, NewApplier(c, DefaultKinds()).Apply(b.Context(), in(ends, patches)))
	}
}

// BenchmarkOneChanged: the same, after one link of the thousand has changed.
func BenchmarkOneChanged(b *testing.B) {
	ends := scene(b, 1000)
	a := NewApplier(benchCage(b), DefaultKinds())
	check(b, a.Apply(b.Context(), in(ends, benchPatch)))
	n := 0
	for b.Loop() {
		n++
		check(b, a.Apply(b.Context(), in(changed(b, ends, n), benchPatch)))
	}
}

// BenchmarkAgainstAlone: 100 links by us, and by kustomize alone over all their objects at once, in turns; alone/ours is how
// many times as long it takes.
func BenchmarkAgainstAlone(b *testing.B) {
	ends := scene(b, 100)
	cage := benchCage(b)
	var alone, ours time.Duration
	for b.Loop() {
		begin := time.Now()
		check(b, NewApplier(cage, DefaultKinds()).Apply(b.Context(), in(ends, benchPatch)))
		middle := time.Now()
		if _, err := wholeJob(b, ends).run(); err != nil {
			b.Fatal(err)
		}
		ours, alone = ours+middle.Sub(begin), alone+time.Since(middle)
	}
	b.ReportMetric(alone.Seconds()/ours.Seconds(), "alone/ours")
}

// wholeJob is one build of all objects.
func wholeJob(tb testing.TB, ends []object.Desired) job {
	tb.Helper()
	d := &direct{}
	c, _ := d.check(in(nil, benchPatch).Tree, testDir, in(nil, benchPatch).At)
	return job{Files: c.Files, Dir: c.Dir, Component: true, Resources: bodies(tb, ends)}
}

func bodies(tb testing.TB, ends []object.Desired) []json.RawMessage {
	tb.Helper()
	var out []json.RawMessage
	for _, w := range ends {
		for _, o := range w.Objects {
			in, err := newInput(o)
			if err != nil {
				tb.Fatal(err)
			}
			out = append(out, in.body)
		}
	}
	return out
}

// changed gives one end's first object another annotation.
func changed(tb testing.TB, ends []object.Desired, n int) []object.Desired {
	tb.Helper()
	out := slices.Clone(ends)
	out[5].Objects = slices.Clone(out[5].Objects)
	o := out[5].Objects[0]
	content, err := decode(o.Body.Bytes())
	if err != nil {
		tb.Fatal(err)
	}
	content["metadata"].(map[string]any)["annotations"] = map[string]any{"n": fmt.Sprint(n)}
	if out[5].Objects[0], err = object.Seal(object.Spec{Key: o.Key, Version: o.Version, Phase: o.Phase, Owner: object.DefaultOwner}, content); err != nil {
		tb.Fatal(err)
	}
	return out
}

func check(tb testing.TB, out Output) {
	tb.Helper()
	for _, w := range out.Ends {
		if w.Blocked != nil {
			tb.Fatal(w.Blocked.Message)
		}
	}
}

// BenchmarkBatch: what one build takes, by how many ends it is of.
func BenchmarkBatch(b *testing.B) {
	all := scene(b, 100)[1:]
	for _, n := range []int{1, 2, 4, 8, 16, 100} { // about ten objects each
		j := wholeJob(b, all[:n])
		b.Run(fmt.Sprintf("%d-ends", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := j.run(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/end")
		})
	}
}
