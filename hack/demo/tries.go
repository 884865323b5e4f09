package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
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
			d.screen.note("\nThe end of %s:\n%s", filepath.Base(path), text)
		}
	}
}

// triedLink is the link of the suggestions: the script does not remove it, however many clusters there are.
func triedLink() api.Pair { return api.Pair{Source: "east", Target: "west"} }

// try is one suggestion: what to enter, and what you will see, in turn.
type try struct {
	title string
	steps []string
}

// showTries shows what to try.
func (d *demo) showTries() error {
	env, err := d.writeEnv()
	if err != nil {
		return err
	}
	d.screen.note("\nEverything runs until you press Ctrl-C. In a second terminal, begin with:\n")
	d.screen.note("   . %s", env)
	d.screen.note("   linkwright status")
	d.screen.note("   linkwright check --repo $DEMO/fleet.git   # warns: the demo's logins are admins,")
	d.screen.note("                                             # which cluster add would replace")
	d.screen.note("   tail -f $DEMO/daemon.log &   # what linkwright does")
	if address := d.daemon.address(); address != "" {
		d.screen.note("\nA browser shows linkwright's report here: http://%s/report.json", address)
	}
	for i, t := range d.tries() {
		d.screen.note("\n%d. %s", i+1, t.title)
		for _, s := range t.steps {
			d.screen.note("   %s", s)
		}
	}
	return nil
}

// writeEnv writes a file for a shell of the user to read, which sets up linkwright, git and kubectl.
func (d *demo) writeEnv() (path string, err error) {
	var kubeconfigs []string
	for _, c := range d.clusters {
		kubeconfigs = append(kubeconfigs, c.Kubeconfig)
	}
	lines := []string{
		"export DEMO=" + quote(d.dir),
		"export PATH=" + quote(filepath.Dir(d.Linkwright)) + `:"$PATH"`,
		"export LINKWRIGHT_KUBECONFIG=" + quote(d.cluster(management).Kubeconfig) + " LINKWRIGHT_NAMESPACE=" + namespace,
		"export LINKWRIGHT_ALLOW_FILE_REPO=true", // LINKWRIGHT_REPO would make status read the repository
		"export KUBECONFIG=" + quote(strings.Join(kubeconfigs, ":")),
	}
	path = filepath.Join(d.dir, "env")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write environment: %w", err)
	}
	return path, nil
}

// quote is a word of a POSIX shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

func (d *demo) tries() []try {
	link := triedLink()
	controller := "controller-" + string(link.Target)
	server := d.cluster(link.Source).PIDs["kube-apiserver"]
	return []try{
		{"Delete a controller", []string{
			"Type d and press Enter, here in the first terminal.",
			"→ linkwright creates it again. This terminal shows how long that took.",
			"Or, if you have kubectl (make kubectl builds one):",
			"kubectl --context " + string(link.Source) + " -n " + testbed.Multicluster + " \\",
			"  delete deployment " + controller,
		}},
		{"Push an invalid declaration", []string{
			"sed -i 's/target:/taget:/' $DEMO/fleet/links.yaml",
			"git -C $DEMO/fleet commit -qam 'a typo' && git -C $DEMO/fleet push -q",
			"sleep 6; linkwright status",
			"→ The first lines say that the commit is not applied, and what is wrong.",
			"git -C $DEMO/fleet revert --no-edit HEAD && git -C $DEMO/fleet push -q",
			"sleep 6; linkwright status",
			"→ The new commit is applied. The links were never interrupted.",
		}},
		{"Suspend a link during an incident", []string{
			fmt.Sprintf("linkwright suspend %s/%s --reason incident", link.Source, link.Target),
			"Type d and press Enter in the first terminal, then: linkwright status",
			"→ The controller stays deleted. The status lists who suspended it, and why.",
			fmt.Sprintf("linkwright resume %s/%s", link.Source, link.Target),
			"→ The controller is back.",
		}},
		{"Stop the API server of " + string(link.Source), slices.Concat(
			[]string{fmt.Sprintf("kill -STOP %d; linkwright status --cluster-timeout 3s", server)},
			d.whileStopped(string(link.Source)),
			[]string{
				fmt.Sprintf("kill -CONT %d; sleep 6; linkwright status", server),
				"→ All links are Ready.",
			},
		)},
		{"Kill the daemon", []string{
			fmt.Sprintf("kill -KILL %d", d.daemon.cmd.Process.Pid),
			"Type d and press Enter in the first terminal.",
			"→ The controller stays deleted. Linkerd keeps using everything else.",
			"Press Enter in the first terminal.",
			"→ A new daemon starts. It waits until it has seen the Lease of the killed one",
			"  unchanged for 15 s, and then creates the controller.",
		}},
	}
}

// whileStopped says what linkwright status shows while the API server of a cluster is stopped.
func (d *demo) whileStopped(cluster string) []string {
	if d.Clusters == 2 {
		return []string{"→ The link is Unknown, and so is cluster " + cluster + "."}
	}
	return []string{
		"→ Links from " + cluster + " are Unknown. After about 15 s the daemon notices, too:",
		"  links to it are then Blocked, and keep what they have. Others stay Ready.",
	}
}
