package object

import "github.com/linkwright/linkwright/api"

// Trial is a login that is to be tried: a kubeconfig for a cluster, and what its reader will list.
type Trial struct {
	Target api.ClusterName
	Config Secret
	Lists  []List
}

// List is a kind in all namespaces, by the name of its resource.
type List struct {
	Group, Version, Resource string
	Optional                 bool // where the server does not know the kind, nobody lists it
}

// String is as kubectl's: resource.version.group.
func (l List) String() string {
	if l.Group == "" {
		return l.Resource
	}
	return l.Resource + "." + l.Version + "." + l.Group
}
