package output

import "github.com/linkwright/linkwright/object"

// DeclarationList is the answer of "import" and "cluster add": declarations to commit.
type DeclarationList struct {
	TypeMeta
	// DryRun is client or server if "cluster add" wrote nothing, because of --dry-run.
	DryRun string `json:"dryRun,omitempty" jsonschema:"enum=client,enum=server"`
	// Items are the declarations to commit. There is none for a cluster that is declared already.
	Items []Declaration `json:"items"`
	// Notes are about what is not declared, such as links to other clusters.
	Notes []string `json:"notes,omitempty"`
	// Written are the writes of "cluster add", in order, or with dryRun those that it would do. The cluster of a write to the management cluster is empty.
	Written []Write `json:"written,omitempty"`
}

// Declaration is one declaration to commit.
type Declaration struct {
	// Declaration is what to commit, as a file of the repository has it. "linkwright schema" prints its schema.
	Declaration any `json:"declaration"`
	// Notes say what linkwright could not find out, and what to do next.
	Notes []string `json:"notes,omitempty"`
}

// Bootstrap is the answer of "bootstrap": what it committed and wrote, and the values of the Helm chart.
type Bootstrap struct {
	TypeMeta
	// DryRun is client or server if nothing was written.
	DryRun string `json:"dryRun,omitempty" jsonschema:"enum=client,enum=server"`
	// Files are the declarations that were committed, or with dryRun those that would be.
	Files []File `json:"files"`
	// Commit is the hash of their commit. It is absent if there was nothing to commit.
	Commit string `json:"commit,omitempty"`
	// Values are the values of the Helm chart.
	Values any `json:"values"`
	// Written are the writes in clusters, in order, or with dryRun those that there would be. The cluster of a write to the management cluster is empty.
	Written []Write `json:"written,omitempty"`
}

// File is a file of the repository.
type File struct {
	// Name is its path below the directory of the declarations.
	Name string `json:"name"`
	// Content is all of it.
	Content string `json:"content"`
}

// ManifestList is the answer of "render" and "rbac": objects of Kubernetes.
type ManifestList struct {
	TypeMeta
	// Items are in the order in which they are applied, cluster by cluster.
	Items []Manifest `json:"items"`
}

// Manifest is an object that a cluster must hold.
type Manifest struct {
	// Cluster is the cluster that must hold the object.
	Cluster string `json:"cluster"`
	// Source is the source of the link that the object is for. It is absent if the object is for no link.
	Source string `json:"source,omitempty"`
	// Target is the target of the link that the object is for. It is absent if the object is for no link.
	Target string `json:"target,omitempty"`
	// Blocked says why an end of a link cannot be rendered. There is then no object.
	Blocked *object.Reason `json:"blocked,omitempty"`
	// Object is the object. Values of Secrets are placeholders.
	Object any `json:"object,omitempty"`
}
