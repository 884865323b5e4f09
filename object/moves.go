package object

// Moves is what moved in a cluster since it was last asked.
type Moves struct {
	Keys []Key // in order, each once
	All  bool  // more than keys: what is seen of the cluster is to be judged anew as a whole
}
