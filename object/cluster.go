package object

import "context"

// Cluster reads and writes one cluster. Writes are idempotent; deleting the absent succeeds. Many may be asked for at once.
type Cluster interface {
	// Observe asks the cluster.
	Observe(ctx context.Context, w []Watch) (Observation, error)
	// Live gives the same answer from watches that are kept open, and from now on are these. It has seen what was written.
	Live(ctx context.Context, w []Watch) (Observation, error)
	Write(ctx context.Context, c Change) (Record, error)
}
