package main

import (
	"context"
	"net"
	"net/http"
	"strings"
)

// silentRepository: while a repository gives no answer, the report says that a sync is under way, and the daemon is not ready yet.
func (l *lab) silentRepository() {
	var config net.ListenConfig
	server, err := config.Listen(l.t.Context(), "tcp", "127.0.0.1:0") // whoever connects waits
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	was := l.remote
	l.remote = "http://" + server.Addr().String() + "/fleet.git"
	defer func() { l.remote = was }()
	ctx, stop := context.WithCancel(l.t.Context())
	c, at := l.daemonAt(ctx, l.t.TempDir()+"/log")
	var got answer
	l.eventually("there is a report", func() bool {
		got = get(at + "/report.json")
		return got.status == http.StatusOK
	})
	if !strings.Contains(got.body, `"syncing": true`) || !strings.Contains(got.body, `"asDeclared": false`) {
		l.t.Errorf("while the first sync waits: %s", got.body)
	}
	if ready := get(at + "/readyz"); ready.status != http.StatusServiceUnavailable {
		l.t.Errorf("before the first sync has ended: %+v", ready)
	}
	stop()
	_ = c.Wait() // how it ends is another test's matter
}
