package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// paused pauses west from inside, twice, as the command does that linkwright itself shows for the end of a pause. Events of the management cluster tell
// of it, and the second pause counts up the Event of the first. A pause begins after the daemon reported the end of the one before, else nothing changed.
func (b *testEnv) paused(log *logged) {
	b.Helper()
	for n := range 2 {
		b.annotateBase(`"true"`)
		b.event(fmt.Sprintf("pause %d", n+1), func(e eventsv1.Event) bool {
			again := e.Series != nil && e.Series.Count >= 2
			return e.Regarding.FieldPath == "link/west/east" && e.Reason == "Suspended" && again == (n > 0)
		})
		if n == 0 {
			b.saysPaused()
		}
		b.annotateBase("null")
		b.eventually(fmt.Sprintf("the log tells of resumption %d", n+1), func(context.Context) error {
			if strings.Count(log.String(), `msg="link changed" link=west→east from=Suspended to=`) <= n {
				return errors.New("it does not")
			}
			return nil
		})
	}
	b.event("a resumption", func(e eventsv1.Event) bool { return e.Regarding.FieldPath == "link/west/east" && e.Reason == "Healthy" })
}

// saysPaused: every command that shows the cluster, or a link of it, says that it is paused, and how to resume it.
func (b *testEnv) saysPaused() {
	b.Helper()
	repo := []string{"--repo", b.repo, "--allow-file-repo"}
	for _, args := range [][]string{
		{"status"},
		append([]string{"status"}, repo...),
		{"get", "clusters"},
		{"get", "links"},
		{"describe", "cluster", "west"},
		{"describe", "link", "west/east"},
		append([]string{"diff"}, repo...),
	} {
		out, _ := exec.CommandContext(b.Context(), b.program, append(args, "--kubeconfig", b.managementKubeconfig)...).CombinedOutput() // diff differs
		said := strings.Join(strings.Fields(string(out)), " ")
		if !strings.Contains(said, "paused from inside") || !strings.Contains(said, "kubectl -n linkwright-access annotate configmap linkwright.base linkwright.dev/paused-") {
			b.Errorf("linkwright %v does not say how to resume a paused cluster:\n%s", args, out)
		}
	}
}

// annotateBase sets linkwright.dev/paused on the inventory of west's base; null: it removes it.
func (b *testEnv) annotateBase(value string) {
	b.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"linkwright.dev/paused":%s}}}`, value)
	_, err := b.client("west").CoreV1().ConfigMaps("linkwright-access").Patch(b.Context(), "linkwright.base", types.MergePatchType, patch, metav1.PatchOptions{})
	b.must(err)
}

// event waits for an Event about the record in the management cluster.
func (b *testEnv) event(what string, is func(eventsv1.Event) bool) {
	b.Helper()
	b.eventually("an Event tells of "+what, func(ctx context.Context) error {
		all, err := b.client("west").EventsV1().Events(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var found strings.Builder
		for _, e := range all.Items {
			if e.Regarding.Kind == "ConfigMap" && e.Regarding.Name == "linkwright-fleet" && e.Regarding.UID != "" && is(e) {
				return nil
			}
			fmt.Fprintf(&found, "\n%s %s %s %v: %s", e.Regarding.FieldPath, e.Type, e.Reason, e.Series, e.Note)
		}
		return errors.New("there is none:" + found.String())
	})
}
