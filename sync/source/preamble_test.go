package source_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/sync/source"
)

// advertised returns a listing of one branch, and what may come before a pack without end: 8 MiB of it will do.
func advertised() (listing, lines string) {
	hash := strings.Repeat("1", 40)
	head := hash + " refs/heads/main\x00shallow ofs-delta\n"
	line := "shallow " + hash
	return fmt.Sprintf("%04x%s0000", len(head)+4, head), strings.Repeat(fmt.Sprintf("%04x%s", len(line)+4, line), 160_000)
}

// A server that never comes to the pack is not listened to for ever, on whatever way.
func TestPollOfAnAnswerWithoutAPack(t *testing.T) {
	const words = "the server sends more than 1 MiB before a commit"
	head, lines := advertised()
	t.Run("http", func(t *testing.T) {
		url := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			kind := "result"
			if q.Method == http.MethodGet {
				kind = "advertisement"
			}
			w.Header().Set("Content-Type", "application/x-git-upload-pack-"+kind)
			if q.Method == http.MethodGet {
				_, _ = io.WriteString(w, "001e# service=git-upload-pack\n0000"+head)
				return
			}
			_, _ = io.Copy(io.Discard, q.Body)
			_, _ = io.WriteString(w, lines)
		}))
		_, err := open(t, source.Options{Repo: url + "/fleet.git", Ref: "main"}).Poll(t.Context())
		refuse(t, err, words)
	})
	t.Run("git", func(t *testing.T) {
		addr := serveGit(t, func(c io.Writer) { _, _ = io.WriteString(c, head+lines) })
		_, err := open(t, source.Options{Repo: "git://" + addr + "/fleet.git", Ref: "main"}).Poll(t.Context())
		refuse(t, err, words)
	})
}
