package reason

// Codes of what is removed, or is not.
const (
	PruneLimitExceeded    Code = "PruneLimitExceeded"
	PrunePolicy           Code = "PrunePolicy"
	PruneDisabled         Code = "PruneDisabled"
	NoDeclarations        Code = "NoDeclarations"
	NoClusters            Code = "NoClusters"
	Draining              Code = "Draining"
	Terminating           Code = "Terminating"
	Waiting               Code = "Waiting"
	WaitingForRead        Code = "WaitingForRead"
	WaitingForSource      Code = "WaitingForSource"
	WaitingForTarget      Code = "WaitingForTarget"
	WaitingForLinks       Code = "WaitingForLinks"
	WaitingForReplacement Code = "WaitingForReplacement"
)

func removing() Group {
	return Group{Title: "Removing", Entries: append(guards(), waits()...)}
}

// guards returns why nothing is removed.
func guards() []Entry {
	return []Entry{
		{
			Code: PruneLimitExceeded,
			Meaning: "The revision would remove more clusters, links or mirrored Services than its limits allow. linkwright removes " +
				"nothing anywhere.",
			Remedy: "Restore the declarations, declare `state: Leaving` for a cluster that is to go, or approve it: `linkwright " +
				"approve HASH` ([limits](docs/explanation/prune.md#limits)).",
		},
		{
			Code:    PrunePolicy,
			Meaning: "The policy is `UpsertOnly` or `CreateOnly`, which do not delete.",
			Remedy:  "Nothing, or declare the policy `Sync`.",
		},
		{
			Code:    PruneDisabled,
			Meaning: "An object has the annotation `linkwright.dev/prune: disabled`.",
			Remedy:  "If linkwright is to delete it, remove the annotation: `kubectl -n NAMESPACE annotate KIND NAME linkwright.dev/prune-`.",
		},
		{
			Code:    NoDeclarations,
			Meaning: "The commit has no declaration at all.",
			Remedy:  "Commit declarations, or check `--path`.",
		},
		{
			Code:    NoClusters,
			Meaning: "The commit declares no Cluster.",
			Remedy: "Declare a Cluster, or check `--path`. To remove everything, run `linkwright uninstall` while the clusters are still declared " +
				"([how](docs/how-to/retire-a-cluster.md#remove-everything)).",
		},
	}
}

// waits returns what a removal waits for.
func waits() []Entry {
	return []Entry{
		{
			Code:    Draining,
			Meaning: "Linkerd's controller removes the mirrors of a removed link.",
			Remedy: "Nothing. linkwright deletes what is left at `prune.drainDeadline` " +
				"([how](docs/explanation/prune.md#the-gates-of-an-unlink)).",
		},
		{
			Code:    Terminating,
			Meaning: "An object is being deleted.",
			Remedy:  "Nothing. If it stays, a finalizer holds it.",
		},
		{
			Code:    Waiting,
			Meaning: "A change waits for what the message names.",
			Remedy:  "Nothing.",
		},
		{
			Code:    WaitingForRead,
			Meaning: "Something is to be deleted, and linkwright reads the clusters once more before.",
			Remedy:  "Nothing. If it lasts, see the reason of the cluster in the message.",
		},
		{
			Code:    WaitingForSource,
			Meaning: "The account in the target stays until the source has removed the link.",
			Remedy:  "Nothing. If the source cannot be read, it keeps its access for `--unreachable-source-timeout`, and the message says until when.",
		},
		{
			Code:    WaitingForTarget,
			Meaning: "The source's end stays until the target can be read.",
			Remedy:  "See the reason of the target.",
		},
		{
			Code:    WaitingForLinks,
			Meaning: "Something stays until other links of the cluster are removed or handed over.",
			Remedy:  "Nothing.",
		},
		{
			Code:    WaitingForReplacement,
			Meaning: "A replaced object stays until its replacement is written and ready ([moves](docs/explanation/prune.md#moves)).",
			Remedy: "Nothing. The message names what the replacement lacks. To give it up, declare the former state, or remove the " +
				"new link.",
		},
	}
}
