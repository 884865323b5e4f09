package main

import (
	"bytes"
	"net"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

// A command that reads only clusters says what it waits for, too, while the management cluster does not answer.
func TestSilentManagementCluster(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	server, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0") // connections are accepted, and get no answer
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	file := filepath.Join(t.TempDir(), "silent.yaml")
	write(t, file, `{apiVersion: v1, kind: Config, current-context: one, clusters: [{name: c, cluster: {server: "https://`+server.Addr().String()+`"}}],
contexts: [{name: one, context: {cluster: c, user: u}}], users: [{name: u, user: {token: x}}]}`)
	var out, stderr bytes.Buffer
	code := run(t.Context(), []string{"status", "--color", "never", "--kubeconfig", file, "--cluster-timeout", "3s"}, &out, &stderr)
	if want := regexp.MustCompile(`^waiting \ds: the management cluster \(\ds\)\nlinkwright: read the record of clusters: `); code != cli.ExitError || !want.MatchString(stderr.String()) {
		t.Errorf("exit code %d, want %s\n%s%s", code, want, &stderr, &out)
	}
}
