package report

import "github.com/linkwright/linkwright/object"

// ObjectYAML is an object as it may be shown: without what the API server writes, and with every value of a
// Secret as a hash under key (the uid of the cluster's kube-system); without a key not even that.
func ObjectYAML(k object.Key, body object.Body, key string) []byte {
	m := redacting([]keyed{{k, body}}).hashing(key)
	return asYAML(m.shown(k, body))
}
