package main

import (
	"fmt"
	"path/filepath"

	"github.com/linkwright/linkwright/hack/testbed"
)

// showLogs shows the ends of the logs after a failed check.
func (d *demo) showLogs() {
	logs := []string{d.mirrorLog()}
	if d.daemon != nil {
		logs = append(logs, d.daemon.log)
	}
	for _, path := range logs {
		if text := tail(path); text != "" {
			d.screen.line("\nThe end of %s:", filepath.Base(path))
			d.screen.block(text)
		}
	}
}

// showTries shows what to try, each with what you will see.
func (d *demo) showTries() {
	west, east := d.cluster(management), d.cluster(removedLink().Target)
	d.screen.line("\nIt stays up until Ctrl-C. In another terminal, first:\n")
	d.screen.line("  export LINKWRIGHT_REPO=%s LINKWRIGHT_ALLOW_FILE_REPO=true LINKWRIGHT_NAMESPACE=%s", d.repo.Bare, namespace)
	d.screen.line("  export LINKWRIGHT_KUBECONFIG=%s PATH=\"%s:$PATH\"", west.Kubeconfig, filepath.Dir(d.Linkwright))
	d.screen.line("  tail -f %s &", d.daemon.log)
	if address := d.daemon.address(); address != "" {
		d.screen.line("  curl http://%s/report.json", address)
	}
	for i, t := range d.tries(west, east) {
		d.screen.line("\n%d. %s", i+1, t.what)
		for _, c := range t.commands {
			d.screen.line("   %s", c)
		}
		d.screen.line("   → %s", t.seen)
	}
}

// try is one suggestion.
type try struct {
	what     string
	commands []string
	seen     string
}

func (d *demo) tries(west, east *cluster) []try {
	in := func(of *cluster, command string) string {
		return "kubectl --kubeconfig " + of.Kubeconfig + " " + command
	}
	push := "git -C " + d.repo.Clone + " commit -qam change && git -C " + d.repo.Clone + " push -q"
	links := d.repo.Clone + "/links.yaml"
	return []try{
		{
			"Delete a controller",
			[]string{in(west, "-n "+testbed.Multicluster+" delete deployment controller-north")},
			"the log shows reason=Missing: the controller is back within a second",
		},
		{
			"Make a typo",
			[]string{"sed -i 's/target:/taget:/' " + links, push, "linkwright status"},
			"status names file, line and column, and the applied revision stays; undo with: git -C " + d.repo.Clone + " revert --no-edit HEAD, and push",
		},
		{
			"Take a link away in an incident",
			[]string{"linkwright suspend west/north --reason lunch", in(west, "-n "+testbed.Multicluster+" delete service probe-north"), "linkwright status"},
			"the Service stays away until: linkwright resume west/north",
		},
		{
			"Stop the API server of east",
			[]string{fmt.Sprintf("kill -STOP %d", east.PIDs["kube-apiserver"]), "linkwright describe cluster east --cluster-timeout 3s"},
			fmt.Sprintf("east is Unknown, and the links between the others go on; let it go on with: kill -CONT %d", east.PIDs["kube-apiserver"]),
		},
		{
			"Kill the daemon",
			[]string{fmt.Sprintf("kill -KILL %d", d.daemon.cmd.Process.Pid), in(west, "-n "+testbed.Multicluster+" delete deployment controller-north")},
			"nothing comes back until you press Enter here: then it does, when the Lease of the dead daemon has expired, after 15 s",
		},
	}
}
