package object

import "context"

// Cluster reads and writes one cluster. Writes are idempotent; deleting an absent object succeeds. It is safe for concurrent use.
type Cluster interface {
	// Observe reads the cluster by requests.
	Observe(ctx context.Context, w []Watch) (Observation, error)
	// Live returns the same result from open watches, which are these from now on. The result includes all writes.
	Live(ctx context.Context, w []Watch) (Observation, error)
	Write(ctx context.Context, c Change) (Record, error)
}
