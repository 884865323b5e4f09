package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

// TestPush: from a push to the sync of it only a moment passes with a hook, although the next poll would
// be an hour away, and also while a sync waits for what another process does.
func TestPush(t *testing.T) {
	l := newLab(t, "east", "west")
	hourly := policy("interval: 1h")
	l.commit(l.clusters() + hourly)
	secret := t.TempDir() + "/secret"
	if err := os.WriteFile(secret, []byte("a secret of at least 16 bytes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c, at := l.daemonAt(ctx, t.TempDir()+"/log", "--hook-secret-file", secret, "--only-write", "west")
	reported := func() (commit string, syncing bool) {
		var doc struct {
			Commit  string `json:"appliedRevision"`
			Syncing bool
		}
		_ = json.Unmarshal([]byte(get(at+"/").body), &doc) // there is none yet
		return doc.Commit, doc.Syncing
	}
	head := func() string { // of a pass that has ended
		if commit, syncing := reported(); !syncing {
			return commit
		}
		return ""
	}
	l.eventually("the first pass", func() bool { return head() != "" })
	l.commit(l.clusters() + hourly + "# more\n")
	l.noticed("while it pauses", at, secret, head)
	for command, after := range map[string]string{
		"uninstall": "leave it at 0, or remove the declarations", "release --all": "remove the declarations of these links before", "adopt --all": "run this command again, and scale it back",
	} {
		l.must(cli.ExitHeld, []string{"take lease linkwright/linkwright-linkwright-west", "has it since", "--only-write", after}, append(strings.Fields(command), "--yes")...)
	}

	l.commit(l.clusters() + link("west", "east", "") + hourly) // whose other end nobody writes
	l.poke(at+"/hook", secret)
	l.eventually("a report of the pass that waits", func() bool {
		commit, syncing := reported()
		return commit == l.tip() && syncing
	})
	l.commit(l.clusters() + hourly + "# no link\n")
	l.noticed("while a pass waits", at, secret, head)
	stop()
	_ = c.Wait() // it was asked to stop
}

// moment is less than a second on a machine that has nothing else to do, and this on one that has. By itself the daemon polls once an hour, and ends a sync
// that waits after a minute.
const moment = 30 * time.Second

// noticed pokes the daemon, and waits until a pass over the newest commit has ended: there is nothing to write for it.
func (l *lab) noticed(what, at, secret string, head func() string) {
	l.t.Helper()
	began := time.Now()
	l.poke(at+"/hook", secret)
	l.eventually(what, func() bool { return head() == l.tip() })
	if took := time.Since(began); took > moment {
		l.t.Errorf("%s: the next pass ended %v after the push", what, took)
	}
}

// poke signs a request as anybody may who knows the secret.
func (l *lab) poke(url, secret string) {
	l.t.Helper()
	raw, err := os.ReadFile(secret)
	if err != nil {
		l.t.Fatal(err)
	}
	body := []byte("push")
	mac := hmac.New(sha256.New, bytes.TrimSpace(raw))
	_, _ = mac.Write(body) // never fails
	r, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header.Set("X-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusAccepted {
		l.t.Errorf("POST /hook: %s", answer.Status)
	}
}
