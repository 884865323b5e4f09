package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/linkwright/linkwright/hack/testbed"
)

// explain shows the ends of the logs: something did not hold.
func (d *demo) explain() {
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

// invite tells how to look around and how to commit.
func (d *demo) invite() {
	west := d.cluster(home).Kubeconfig
	d.screen.line("\nIt stays up until Ctrl-C. Look around (east, north and west have a kubeconfig each):\n")
	d.screen.line("  kubectl --kubeconfig %s -n %s get links,deploy,svc", west, testbed.Multicluster)
	d.screen.line("  kubectl --kubeconfig %s -n %s get svc,endpointslices", west, shop)
	d.screen.line("  kubectl --kubeconfig %s -n linkwright-access get configmaps,serviceaccounts", west)
	d.screen.line("  %s status %s", brief(d.Linkwright), strings.Join(d.common(), " "))
	if address := d.daemon.address(); address != "" {
		d.screen.line("  curl http://%s/", address)
	}
	d.screen.line("  tail -f %s", d.daemon.log)
	d.screen.line("\nCommit; the daemon looks every 5 seconds:\n")
	d.screen.line("  cd %s", d.repo.Clone)
	d.screen.line("  $EDITOR links.yaml          # take a link away, or bring %s back", removed())
	d.screen.line("  git commit -am 'change links' && git push")
}

// brief is the path as seen from here, where that is shorter.
func brief(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil && len(rel) < len(path) {
		return rel
	}
	return path
}
