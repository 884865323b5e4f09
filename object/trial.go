package object

import "github.com/linkwright/linkwright/api"

// Login is a login to verify: a kubeconfig for a cluster, and the lists that its reader will request.
type Login struct {
	Target api.ClusterName
	Config Secret
	Lists  []List
}

// List is a kind in all namespaces, by the name of its resource.
type List struct {
	Group, Version, Resource string
	Optional                 bool // not listed if the server does not serve the kind
}

// String is resource.version.group, as for kubectl.
func (l List) String() string {
	if l.Group == "" {
		return l.Resource
	}
	return l.Resource + "." + l.Version + "." + l.Group
}
