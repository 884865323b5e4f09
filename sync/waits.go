package sync

import (
	"slices"

	"github.com/linkwright/linkwright/api"
)

// neighbours are the clusters whose steps wait for this one – its own end of a link may be gone already –, and with declared
// those at the other ends of its declared links.
func (b *board) neighbours(name api.ClusterName, declared bool) []api.ClusterName {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []api.ClusterName
	if declared {
		for _, l := range b.fleet.Out(name) {
			out = append(out, l.Target.Name)
		}
		for _, l := range b.fleet.In(name) {
			out = append(out, l.Source.Name)
		}
	}
	for other, names := range b.waiting {
		if slices.Contains(names, name) {
			out = append(out, other)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(n api.ClusterName) bool { return n == name })
}
