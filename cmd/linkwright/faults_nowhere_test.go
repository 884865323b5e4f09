package main

import (
	"context"
	"strings"
	"time"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/hack/silent"
)

// nowhere: while the kubeconfig of a cluster leads to a server that does not answer, a daemon applies a new commit to all
// clusters, that one included, well before it would give that server up; then its row says so; the right kubeconfig
// heals it.
func (l *lab) nowhere() {
	dir := l.t.TempDir()
	good := l.file(l.Cluster("east").Kubeconfig)
	east := write(l.t, dir+"/east", good)
	f := &faults{lab: l, hook: write(l.t, dir+"/hook", faultHookCanary+"\n")}
	byPath := strings.ReplaceAll(l.clusters(), "kubeconfigSecret: {name: east}", "kubeconfig: {path: "+east+"}") + policy("interval: 5s") + "---\n"
	both := byPath + link("west", "east", "") + link("east", "west", "")
	l.commit(byPath + link("west", "east", ""))
	ctx, stop := context.WithCancel(l.t.Context())
	defer stop()
	daemon, at := l.daemonAt(ctx, dir+"/log", "--allow-kubeconfig-paths", "--hook-secret-file", f.hook, "--cluster-timeout", "30s")
	f.at = at
	f.expect("the first commit is in force", f.inForce)
	nowhere, called := silent.Listen(l.t)
	write(l.t, east, kubeconfig(nowhere, "token: x"))
	l.commit(both)
	f.linked = true
	start := time.Now()
	f.expect("the second commit is in force", f.inForce)
	took := time.Since(start)
	l.t.Logf("applied after %v", took)
	if took > 25*time.Second {
		l.t.Errorf("it took %v, as long as the server that does not answer", took)
	}
	silent.Called(l.t, called)
	f.expect("its row says so", func() bool { return strings.Contains(get(at+"/").body, "does not answer") })
	write(l.t, east, good)
	f.expect("the right one heals it", f.inForce)
	stop()
	_ = daemon.Wait() // its exit code is another test's matter
	l.commit(l.clusters() + link("west", "east", "") + link("east", "west", ""))
	l.must(cli.ExitDone, []string{"2 links: "}, "sync")
}
