package output

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is written piece by piece is what is encoded at once, byte for byte.
func TestWriteJSON(t *testing.T) {
	odd := "line\nnext, \u202e ##[x] \n  \"links\": []\n  \"clusters\": "
	for name, answer := range map[string]any{
		"no report":    Problem{Message: odd},
		"nothing":      SyncReport{},
		"empty lists":  SyncReport{Links: []Link{}, Clusters: []Cluster{}, Error: odd},
		"one of each":  SyncReport{Links: []Link{{Source: odd}}, Clusters: []Cluster{{Name: "east"}}, Problems: []Problem{{Message: odd}}},
		"links alone":  SyncReport{Links: []Link{{Source: "a"}, {Source: "b", Stages: []Stage{{Name: odd}, {}}}}},
		"no links yet": SyncReport{Links: []Link{}, Clusters: []Cluster{{Name: "a"}, {Name: "b"}}},
	} {
		want, err := JSON(answer)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		if err := WriteJSON(&got, answer); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.String()); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// pieces counts bytes, and remembers the largest piece.
type pieces struct{ all, largest int }

func (p *pieces) Write(b []byte) (int, error) {
	p.all += len(b)
	p.largest = max(p.largest, len(b))
	return len(b), nil
}

// The text of a large report is never in memory as a whole.
func TestWriteJSONInPieces(t *testing.T) {
	r := SyncReport{}
	for i := range 5000 {
		r.Links = append(r.Links, Link{Source: fmt.Sprint(i), Stages: make([]Stage, 9)})
	}
	var p pieces
	if err := WriteJSON(&p, r); err != nil {
		t.Fatal(err)
	}
	if p.all < 2<<20 || p.largest > 16<<10 {
		t.Errorf("%d bytes in pieces of up to %d", p.all, p.largest)
	}
	if err := WriteJSON(failing{}, r); err == nil {
		t.Error("a failed write is no error")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
