package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/report/output"
)

const strict = "prune: {maxLinks: 0%, minAllowed: 0}"

// TestApprove: what is over a limit goes once it is approved by its hash, and not before. A pull request is approved before it is
// merged, by the hash that its preview names without any cluster.
func TestApprove(t *testing.T) {
	t.Parallel()
	l := newLab(t, "east", "west")
	declared, retired := l.clusters()+link("west", "east", "")+policy(strict), l.clusters()+policy(strict)
	l.commit(declared)
	const nothing = "nothing is applied yet: run linkwright sync --repo URL"
	l.must(cli.ExitPartial, []string{nothing}, "status")
	l.must(cli.ExitPartial, []string{nothing}, "check")
	l.must(cli.ExitDone, []string{"Next step:  Run linkwright sync --repo URL: no process syncs the link now."}, "describe", "link", "west/east")
	l.must(cli.ExitDone, []string{"1 link: "}, "sync")

	l.commit(retired)
	hash := l.denied("sync")
	before := l.writes()
	l.must(cli.ExitError, []string{"approve 000000000000: the declarations remove something else: " + hash + "  link west/east"}, "approve", "000000000000")
	l.must(cli.ExitUsage, []string{"is not a hash"}, "approve", "west/east")
	if n := l.writes(); n != before {
		t.Errorf("with a hash that is none, %d writes", n-before)
	}
	if code, out := l.bare("approve", "000000000000"); code != cli.ExitError || !strings.Contains(out, "another removal is denied now: "+hash+"  link west/east") {
		t.Errorf("without a repository, by another hash: exit code %d, %s", code, out)
	}
	for _, again := range []struct{ more, says string }{
		{"", "\napproved "}, {"", "\nalready approved "}, {"--withdraw", "\ntaken back: "}, {"", "\napproved "},
	} {
		if code, out := l.bare(append([]string{"approve", hash}, strings.Fields(again.more)...)...); code != cli.ExitDone || !strings.Contains("\n"+out, again.says+hash+"  link west/east") {
			t.Errorf("without a repository, approve %s %s: exit code %d, %s", hash, again.more, code, out)
		}
	}
	if _, out := l.bare("events"); strings.Count(out, "approval/"+hash) != 1 || !strings.Contains(out, "Approved is True: by ") || !strings.Contains(out, ": removes link west/east") {
		t.Errorf("events of an approval that was taken back and given again:\n%s", out)
	}
	for _, shown := range []string{"status", "get links", "describe link west/east"} {
		if _, out := l.bare(strings.Fields(shown)...); !strings.Contains(strings.ToLower(out), "approved by ") || strings.Contains(out, "declare state") {
			t.Errorf("%s of what is approved and not yet synced:\n%s", shown, out)
		}
	}
	if n := l.writes() - before; n != 0 {
		t.Errorf("an approval writes more than the record: %d writes", n)
	}
	l.must(cli.ExitDone, []string{"0 failed"}, "sync")
	l.nothingOf("west", "east")
	l.must(cli.ExitError, []string{"remove nothing that needs an approval"}, "approve", hash)

	l.commit(declared)
	l.must(cli.ExitDone, []string{"1 link: "}, "sync")
	l.git("checkout", "-q", "-b", "retire")
	l.commit(retired)
	l.git("checkout", "-q", "main")
	if offline, live := l.denied("diff", "main..retire"), l.denied("diff", "--ref", "retire"); offline != hash || live != hash {
		t.Errorf("the same removal is called %s by a preview without clusters, %s by one with them, %s by the daemon", offline, live, hash)
	}
	l.previews("Link west→east is to be removed, and linkwright removes nothing of it:", cli.ExitPartial, "--ref", "retire")
	l.must(cli.ExitError, []string{"remove nothing that needs an approval"}, "approve", hash)
	l.answers(answered{"approve REPO --dry-run=client --ref retire " + hash, cli.ExitDone, output.KindDecisionList})
	l.must(cli.ExitDone, []string{"approved " + hash}, "approve", "--ref", "retire", hash)
	l.must(cli.ExitDone, []string{"1 link: ", "nothing to write"}, "sync")
	l.git("merge", "-q", "--ff-only", "retire")
	l.previews("Link west→east is removed:", cli.ExitDifferent)
	l.must(cli.ExitDone, []string{"0 failed"}, "sync")
	l.nothingOf("west", "east")
}

// previews holds that a diff says first what happens to the link, its mirror and its objects, without a body, and that a dry run of sync says the
// same.
func (l *lab) previews(head string, code int, ref ...string) {
	l.t.Helper()
	services := l.client("west").CoreV1().Services("default")
	mirror := testMirror("stuck", "east")
	if _, err := services.Create(l.t.Context(), mirror, metav1.CreateOptions{FieldManager: "controller"}); err != nil {
		l.t.Fatal(err)
	}
	words := []string{"default/stuck-east", "linkwright deletes the controller, the Linkerd Link, the credentials and "}
	if code == cli.ExitDifferent {
		words = append(words, "- Deployment.apps linkerd-multicluster/controller-east\n", "No guard denies this.\n")
	} else {
		words = append(words, "After an approval, it goes in this order:\n", "nothing can be written; 2 ends denied")
	}
	first := l.must(code, words, append([]string{"diff"}, ref...)...).out
	if !strings.HasPrefix(first, head+"\n") || strings.Contains(first, "kind: ") {
		l.t.Errorf("diff %v: want %q first, and no body of what is deleted:\n%s", ref, head, first)
	}
	for _, mode := range []string{"client", "server"} {
		got := l.run(append([]string{"sync", "--dry-run=" + mode}, ref...)...).out
		if p, _, _ := strings.Cut(first, "\n\n"); !strings.HasPrefix(got, p+"\n\n") {
			l.t.Errorf("sync --dry-run=%s %v: want what diff says first:\n%s\n%s", mode, ref, p, got)
		}
	}
	if err := services.Delete(l.t.Context(), mirror.Name, metav1.DeleteOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

var hashNamed = regexp.MustCompile(`linkwright approve ([0-9a-f]{12})`)

// denied runs a command, and gives the one hash that it names.
func (l *lab) denied(args ...string) string {
	l.t.Helper()
	r := l.run(args...)
	found := map[string]bool{}
	for _, m := range hashNamed.FindAllStringSubmatch(r.out, -1) {
		found[m[1]] = true
	}
	if len(found) != 1 || r.code != cli.ExitPartial {
		l.t.Fatalf("%v: exit code %d, hashes %v\n%s%s", args, r.code, found, r.out, r.stderr)
	}
	return slices.Collect(maps.Keys(found))[0]
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
