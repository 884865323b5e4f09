package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

// deadOnes: daemons that are killed do not release their leases. Status names each of them, and since when, although every link is ready.
func (l *lab) deadOnes() {
	l.t.Helper()
	l.must(cli.ExitDone, []string{"1 link: "}, "sync", "--only-write", "west")
	l.othersLease("linkwright-linkwright-east")
	renewed := regexp.MustCompile(` leads\.\nThe last sync of west with --only-write, by `)
	logs := l.t.TempDir()
	daemon, _ := l.daemonAt(l.t.Context(), logs+"/whole")
	l.eventually("the daemon leads, and all is ready", func() bool {
		code, out := l.bare("status")
		return code == cli.ExitDone && renewed.MatchString(out)
	})
	l.kill(daemon)
	daemon, _ = l.daemonAt(l.t.Context(), logs+"/west", "--only-write", "west")
	l.eventually("the process with --only-write leads", func() bool {
		_, out := l.bare("status")
		return strings.Contains(out, " leads with --only-write west.")
	})
	l.kill(daemon)
	const since = `\S+ had the lease and has not renewed it since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ, (\d+m)?\d+s ago\.`
	both := regexp.MustCompile(`(?s) No process syncs: ` + since + ` Start it again, or run linkwright sync --repo URL\.\nNo process syncs west with --only-write: ` + since +
		` .* delete Lease linkwright/linkwright-linkwright-west .*west +east +Unknown +Unknown`)
	l.eventually("status names both dead processes", func() bool {
		code, out := l.bare("status")
		return code == cli.ExitPartial && both.MatchString(out)
	})
	l.management = l.mayOnly("may-see", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: []string{"get"}}, rbacv1.PolicyRule{
		APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get"},
		ResourceNames: []string{"linkwright-linkwright", "linkwright-linkwright-west"},
	})
	defer func() { l.management = "" }()
	if code, out := l.bare("status"); code != cli.ExitPartial || !both.MatchString(out) {
		l.t.Errorf("with rights to these leases alone: exit code %d\n%s", code, out)
	}
	l.management = ""
	l.must(cli.ExitDone, []string{"for the Lease linkwright/linkwright-linkwright: ", " has it until 20", " unless it renews it"}, "sync")
}

// othersLease makes a lease that adopt held that of a dead process of another installation, whose names lead to this one, too.
func (l *lab) othersLease(name string) {
	l.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"linkwright.dev/lease-of":"--owner linkwright-linkwright --only-write x"}},
		"spec":{"holderIdentity":"another","leaseDurationSeconds":15,"renewTime":%q}}`, time.Now().Add(-time.Hour).UTC().Format(metav1.RFC3339Micro))
	leases := l.client("west").CoordinationV1().Leases("linkwright")
	if _, err := leases.Patch(l.t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "hand"}); err != nil {
		l.t.Fatal(err)
	}
}

// kill ends a program so that it can do nothing more.
func (l *lab) kill(c *exec.Cmd) {
	l.t.Helper()
	if err := c.Process.Kill(); err != nil {
		l.t.Fatal(err)
	}
	_ = c.Wait() // it was killed
}
