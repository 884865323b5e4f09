package fleet

import (
	"io/fs"

	"github.com/linkwright/linkwright/api"
)

// Codes of the problems that callers tell from others: both say that there is nothing to keep a fleet to, which may
// be an accident of the repository and must never be read as "prune everything".
const (
	// EmptyTree says that the tree holds no YAML document at all.
	EmptyTree = "EmptyTree"
	// NoCluster says that there are declarations, but no Cluster among them.
	NoCluster = "NoCluster"
)

// Load gives the whole fleet that a tree declares, or nil and every error of every file; warnings come with a fleet.
// Problems are sorted by position.
func Load(commit api.Commit, tree fs.FS) (*Fleet, []api.Problem) {
	return nil, []api.Problem{{Code: EmptyTree, Message: "the tree holds no YAML document"}}
}
