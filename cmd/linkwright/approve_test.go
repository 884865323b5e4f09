package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/object"
)

const strict = "prune: {minAllowed: 0, maxFraction: 0.0}"

// TestApprove: what is refused as too much goes once both clusters' refusals are approved by their hashes, and not before. A
// pull request is approved before it is merged.
func TestApprove(t *testing.T) {
	t.Parallel()
	l := labOf(t, []string{"east", "west"})
	declared, retired := l.clusters()+link("west", "east", "")+policy(strict), l.clusters()+policy(strict)
	l.commit(declared)
	l.must(exitDone, []string{"1 link in place"}, "sync")

	l.commit(retired)
	told := l.refused("sync")
	before := l.writes()
	hashes := l.today(told[0])
	if len(hashes) != 2 || !slices.Contains(hashes, told[0]) {
		t.Fatalf("refused in two clusters: %v, sync tells %v", hashes, told)
	}
	if n := l.writes(); n != before {
		t.Errorf("with a hash that is none, %d writes", n-before)
	}
	l.must(exitDone, []string{"approved " + hashes[0], "not yet approved, and nothing goes before it is: " + hashes[1]}, "approve", hashes[0], hashes[0])
	if n := l.writes() - before; n != 1 {
		t.Errorf("one approval is %d writes", n)
	}
	if again := l.refused("sync"); !slices.Equal(again, hashes[1:]) {
		t.Errorf("approved %s of %v, and %v are refused", hashes[0], hashes, again)
	}
	l.must(exitDone, []string{"approved " + hashes[1]}, "approve", hashes[1])
	l.must(exitDone, []string{"0 failed"}, "sync")
	l.nothingOf("west", "east")

	l.commit(declared)
	l.must(exitDone, []string{"1 link in place"}, "sync")
	l.git("checkout", "-q", "-b", "retire")
	l.commit(retired)
	l.git("checkout", "-q", "main")
	another := l.refused("diff", "--ref", "retire")
	l.must(exitPartial, []string{"nothing would be written; 2 ends refused"}, "diff", "--ref", "retire")
	if slices.ContainsFunc(another, func(h string) bool { return slices.Contains(hashes, h) }) {
		t.Errorf("objects made anew have the hashes of the former ones: %v, %v", another, hashes)
	}
	l.must(exitError, []string{"none: nothing is refused"}, "approve", another[0])
	l.must(exitDone, []string{"approved " + another[0], "approved " + another[1]}, append([]string{"approve", "--ref", "retire"}, another...)...)
	l.must(exitDone, []string{"1 link in place", "nothing to write"}, "sync")
	l.git("merge", "-q", "--ff-only", "retire")
	l.must(exitDone, []string{"0 failed"}, "sync")
	l.nothingOf("west", "east")
}

var hashNamed = regexp.MustCompile(`linkwright approve ([0-9a-f]{12})`)

// refused runs a command, and gives the hashes that it names, in order.
func (l *lab) refused(args ...string) []string {
	l.t.Helper()
	r := l.run(args...)
	var out []string
	for _, m := range hashNamed.FindAllStringSubmatch(r.out, -1) {
		out = append(out, m[1])
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) == 0 {
		l.t.Fatalf("%v: exit code %d, hashes %v\n%s%s", args, r.code, out, r.out, r.stderr)
	}
	return out
}

// today asks for the hashes of today, in order; a hash that is none has nothing approved, nor has one beside it.
func (l *lab) today(beside string) (out []string) {
	l.t.Helper()
	r := l.must(exitError, []string{"no refusal has this hash"}, "approve", beside, "000000000000")
	for _, m := range regexp.MustCompile(`(?m)^  ([0-9a-f]{12})  \d+ objects of cluster \w+: west→east`).FindAllStringSubmatch(r.stderr, -1) {
		out = append(out, m[1])
	}
	slices.Sort(out)
	return out
}

// nothingOf: neither end of a link is left.
func (l *lab) nothingOf(source, target string) {
	l.t.Helper()
	for _, name := range []string{source, target} {
		inventories, err := l.client(name).CoreV1().ConfigMaps(object.AccessNamespace).List(l.t.Context(), metav1.ListOptions{LabelSelector: object.OwnerLabel})
		if err != nil {
			l.t.Fatal(err)
		}
		for _, cm := range inventories.Items {
			if !strings.HasSuffix(cm.Name, ".base") {
				l.t.Errorf("%s is left in %s", cm.Name, name)
			}
		}
		bindings, err := l.client(name).RbacV1().ClusterRoleBindings().List(l.t.Context(), metav1.ListOptions{LabelSelector: object.OwnerLabel})
		if err != nil || len(bindings.Items) > 0 {
			l.t.Errorf("left in %s: %v %v", name, bindings.Items, err)
		}
	}
}
