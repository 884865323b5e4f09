package reason

// Codes of a cluster that is not the one it was, or is given up.
const (
	DuplicateCluster Code = "DuplicateCluster"
	ClusterChanged   Code = "ClusterChanged"
	ClusterRenamed   Code = "ClusterRenamed"
	NamespaceChanged Code = "NamespaceChanged"
	NonFastForward   Code = "NonFastForward"
	NewerLeader      Code = "NewerLeader"
	InventoryInvalid Code = "InventoryInvalid"
	OrphanedObjects  Code = "OrphanedObjects"
	Abandoned        Code = "Abandoned"
	AbandonIgnored   Code = "AbandonIgnored"
	CleanupComplete  Code = "CleanupComplete"
)

func identity() Group {
	return Group{Title: "A cluster is not the one it was, or is given up", Entries: []Entry{
		{
			Code: DuplicateCluster,
			Meaning: "Two names lead to one cluster. If the record or the cluster's base inventory knows the right name, only the " +
				"other one is blocked.",
			Remedy: "Correct the access in the message, remove one declaration, or declare one as a second name " +
				"([identity](docs/reference/declarations.md#identity)).",
		},
		{
			Code:    ClusterChanged,
			Meaning: "A name leads to another cluster than before.",
			Remedy:  "If that is right, run the command in the message: `linkwright accept cluster NAME=UID`.",
		},
		{
			Code:    ClusterRenamed,
			Meaning: "linkwright wrote to this cluster under another name.",
			Remedy: "Declare the former name, and this one as its second name ([another " +
				"name](docs/reference/declarations.md#another-name-for-a-cluster)). Or run `linkwright accept cluster NAME=UID`: it " +
				"removes all links of the former name, and links the cluster again.",
		},
		{
			Code:    NamespaceChanged,
			Meaning: "`spec.linkerd` names other namespaces than those in which linkwright created objects.",
			Remedy: "Put the former namespaces back. To move, declare `state: Leaving` with the former ones, and the new ones when " +
				"nothing is left there ([identity](docs/reference/declarations.md#identity)).",
		},
		{
			Code:    NonFastForward,
			Meaning: "The commit to apply does not descend from the commit that was applied in this cluster before.",
			Remedy: "Push a commit on top of both, or allow it: `linkwright allow non-fast-forward COMMIT` " +
				"([non-fast-forward](docs/reference/git.md#non-fast-forward)).",
		},
		{
			Code:    NewerLeader,
			Meaning: "A process that took its lease later has written to this cluster: a new leader, or one with `--only-write`.",
			Remedy: "Nothing after a change of leaders. Otherwise restart this process. A daemon and a process with `--only-write` " +
				"must not share a cluster.",
		},
		{
			Code:    InventoryInvalid,
			Meaning: "An inventory in the cluster cannot be read.",
			Remedy: "If somebody edited the ConfigMap in the message, delete it: linkwright writes it again from the live objects. If a newer " +
				"linkwright wrote it, run that version.",
		},
		{
			Code:    OrphanedObjects,
			Meaning: "A cluster that is removed or leaves has objects with linkwright's label that no inventory lists.",
			Remedy: "Delete those that are not needed, or run `linkwright abandon NAME` " +
				"([orphans](docs/explanation/prune.md#orphans-and-what-nobody-declares)).",
		},
		{
			Code:    Abandoned,
			Meaning: "The cluster was given up with `linkwright abandon`. The message lists what stays there.",
			Remedy:  "Nothing.",
		},
		{
			Code:    AbandonIgnored,
			Meaning: "The cluster was abandoned, and it is declared or can be read. linkwright does not give it up.",
			Remedy: "Remove it from the repository. Or take the decision back with `--withdraw`: linkwright then removes all that " +
				"it can read.",
		},
		{
			Code:    CleanupComplete,
			Meaning: "A cluster with `state: Leaving` holds nothing of linkwright any more.",
			Remedy:  "You can remove its declaration.",
		},
	}}
}
