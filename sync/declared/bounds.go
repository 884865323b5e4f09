package declared

import (
	"fmt"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
)

// DefaultMaxLinks is how many links a tree may declare if nothing else is said.
const DefaultMaxLinks = 50_000

// tooManyLinks refuses a fleet that declares more than limit links, before anything is rendered. It names the declaration that most of
// them come from.
func tooManyLinks(f *fleet.Fleet, limit int) []api.Problem {
	n := f.NumLinks()
	if n <= limit {
		return nil
	}
	counts := map[string]int{}
	var largest fleet.Link
	for l := range f.Links() {
		if counts[l.From]++; counts[l.From] > counts[largest.From] {
			largest = l
		}
	}
	return []api.Problem{{
		Pos: *largest.At, Code: string(reason.TooManyLinks),
		Message: fmt.Sprintf("%d links are declared, more than the limit of %d: %s declares %d", n, limit, largest.From, counts[largest.From]),
		Hint:    "select fewer clusters, or raise --max-links and the memory limit",
	}}
}
