package object

// ChangedKeys are the changes in a cluster since the last call.
type ChangedKeys struct {
	Keys []Key // in order, each once
	All  bool  // more than keys: the whole cluster must be evaluated again
}
