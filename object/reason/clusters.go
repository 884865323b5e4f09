package reason

// Codes of clusters: they cannot be reached, read or written as a whole.
const (
	Access           Code = "Access"
	Unreachable      Code = "Unreachable"
	Untrusted        Code = "Untrusted"
	Timeout          Code = "Timeout"
	Unauthorized     Code = "Unauthorized"
	Forbidden        Code = "Forbidden"
	Unwatched        Code = "Unwatched"
	NotConfined      Code = "NotConfined"
	NoServiceAccount Code = "NoServiceAccount"
	NotFound         Code = "NotFound"
	Conflict         Code = "Conflict"
	Throttled        Code = "Throttled"
	Unavailable      Code = "Unavailable"
	Canceled         Code = "Canceled"
	Invalid          Code = "Invalid"
	NotAdmitted      Code = "NotAdmitted"
	Untold           Code = "Untold"
	Unknown          Code = "Unknown"
	NoIdentity       Code = "NoIdentity"
	Orphaned         Code = "Orphaned"
	Abandoned        Code = "Abandoned"
	NotAbandoned     Code = "NotAbandoned"
	SameCluster      Code = "SameCluster"
	ClusterChanged   Code = "ClusterChanged"
	ClusterRenamed   Code = "ClusterRenamed"
	NamespaceChanged Code = "NamespaceChanged"
	Rewound          Code = "Rewound"
	Contested        Code = "Contested"
	Immutable        Code = "Immutable"
	Collides         Code = "Collides"
	LaterTerm        Code = "LaterTerm"
	Inventory        Code = "Inventory"
	NotInstalled     Code = "NotInstalled"
	OldLinkerd       Code = "OldLinkerd"
	Unreadable       Code = "Unreadable"
)

// clusters are the entries of those.
func clusters() []Entry {
	return []Entry{
		{
			Codes: []Code{Access},
			Meaning: "a cluster's access cannot be used: its Secret or key is missing, or the kubeconfig refers to " +
				"files or plugins",
			Remedy: "create the Secret in linkwright's namespace, with everything inline",
		},
		{
			Codes:   []Code{Unreachable},
			Meaning: "no connection to the API server",
			Remedy:  "is it up, and may linkwright reach it?",
		},
		{
			Codes:   []Code{Untrusted},
			Meaning: "the API server's certificate does not fit the kubeconfig's CA or host name",
			Remedy:  "compare both with the cluster's",
		},
		{
			Codes:   []Code{Timeout},
			Meaning: "connected, and no answer at all in time",
			Remedy:  "look at the API server's load; `--cluster-timeout`",
		},
		{
			Codes:   []Code{Unauthorized},
			Meaning: "the credentials are not accepted",
			Remedy:  "the token has run out: make a new one",
		},
		{
			Codes: []Code{Forbidden},
			Meaning: "a right is missing; the message names it. Only what needs it is blocked, except for [rights " +
				"without which nothing can be decided](docs/design/0031-one-missing-right.md)",
			Remedy: "run the command that the message names",
		},
		{
			Codes: []Code{Unwatched},
			Meaning: "the account may read single objects or a kind, and not watch them: a foreign change is noticed " +
				"within 30 s instead of at once",
			Remedy: "grant `list` and `watch` on them, as the message says",
		},
		{
			Codes: []Code{NotConfined},
			Meaning: "admission policies that confine linkwright's account are missing or altered in a cluster, or of " +
				"another version of linkwright",
			Remedy: "run the command that the message names, with your own login; only `--require-confinement` makes " +
				"it a reason not to write there",
		},
		{
			Codes:   []Code{NoServiceAccount},
			Meaning: "linkwright's login in a cluster is no ServiceAccount, and admission policies confine only such",
			Remedy:  "nothing for a trial; else give linkwright an account: `linkwright cluster add`",
		},
		{
			Codes:   []Code{NotFound, Conflict, Throttled, Unavailable, Canceled},
			Meaning: "it changed meanwhile, or the API server cannot just now",
			Remedy:  "nothing: the next pass reads and judges again",
		},
		{
			Codes:   []Code{Invalid},
			Meaning: "the API server refuses an object",
			Remedy:  "the message names the field; an immutable one: delete the object",
		},
		{
			Codes:   []Code{NotAdmitted},
			Meaning: "an admission policy or webhook of the cluster denies a write",
			Remedy:  "correct what the message names; policies of linkwright's own account: `linkwright cluster add`",
		},
		{
			Codes:   []Code{Untold},
			Meaning: "Linkerd's destination controller goes on with a former credential of a link, which works on",
			Remedy: "nothing where a time is named; else grant `get` and `patch` on that Deployment, or restart it " +
				"([told](docs/credentials.md#the-control-plane-is-told))",
		},
		{
			Codes:   []Code{Unknown},
			Meaning: "a cluster was not read, so nothing is known of it",
			Remedy:  "see the reason at that cluster",
		},
		{
			Codes:   []Code{NoIdentity},
			Meaning: "the namespace `kube-system` cannot be seen",
			Remedy:  "is this a Kubernetes cluster?",
		},
		{
			Codes: []Code{Orphaned},
			Meaning: "in a cluster that left the repository or is to leave, there are objects with linkwright's mark " +
				"that no inventory lists",
			Remedy: "delete those that nobody needs, or `linkwright abandon NAME` " +
				"([orphans](docs/prune.md#orphans-and-what-nobody-declares))",
		},
		{
			Codes:   []Code{Abandoned},
			Meaning: "a cluster was given up with `linkwright abandon`; the message says what stays there",
			Remedy:  "nothing",
		},
		{
			Codes:   []Code{NotAbandoned},
			Meaning: "somebody abandoned a cluster that is declared or can be read: nothing of it is given up",
			Remedy: "take it out of the repository, or take the decision back (`--withdraw`): linkwright unlinks what " +
				"can be read",
		},
		{
			Codes: []Code{SameCluster},
			Meaning: "two names are one cluster. If the record, or the base inventory there, knows which of them it " +
				"is, only the other one is blocked",
			Remedy: "correct the access that the message names, remove one declaration, or declare one as a second name " +
				"([identity](docs/declarations.md#identity))",
		},
		{
			Codes:   []Code{ClusterChanged},
			Meaning: "a name leads to another cluster than before",
			Remedy:  "if that is right: `linkwright accept cluster NAME=UID`, as the message says",
		},
		{
			Codes:   []Code{ClusterRenamed},
			Meaning: "the cluster was written to under another name",
			Remedy: "declare it by that name, and this one as a second name of it ([another name](docs/declarations.md#another-name-for-a-cluster)); " +
				"`linkwright accept cluster NAME=UID` unlinks all by the former name, and links it anew",
		},
		{
			Codes:   []Code{NamespaceChanged},
			Meaning: "`spec.linkerd` names other namespaces than those in which the cluster holds something of linkwright",
			Remedy: "put the former ones back; to move, declare `state: Leaving` with them, and the others once nothing is " +
				"left there ([identity](docs/declarations.md#identity))",
		},
		{
			Codes:   []Code{Rewound},
			Meaning: "the commit in force does not follow the one that was applied in this cluster before",
			Remedy: "push a commit on top of both, or allow it: `linkwright allow non-fast-forward COMMIT` ([history " +
				"that goes back](docs/git.md#history-that-goes-back))",
		},
		{
			Codes: []Code{Contested},
			Meaning: "others change an object as often as it is corrected, or one pass wrote to the cluster again and " +
				"again",
			Remedy: "find who else changes the objects that the report names; leave them a field by `spec.ignore`",
		},
		{
			Codes: []Code{Immutable},
			Meaning: "the API server refuses to change a field; only bindings and the type of a Secret are made anew, " +
				"and what the SyncPolicy names",
			Remedy: "declare it as it was, or delete the object, and it is made anew; or let `spec.replace` do that",
		},
		{
			Codes: []Code{Collides},
			Meaning: "somebody changed the key of a list item, such as the port of a Service, and left an item that " +
				"collides with linkwright's; the message names the field and who has items in that list",
			Remedy: "remove that item, or delete the object, and linkwright creates it again; or let `spec.replace` " +
				"do that",
		},
		{
			Codes:   []Code{LaterTerm},
			Meaning: "a process that took its lease later has written here: a new leader, or one with `--only-write`",
			Remedy: "nothing after a change of leaders; else restart this one, and let `--only-write` and a daemon " +
				"not share clusters",
		},
		{
			Codes:   []Code{Inventory},
			Meaning: "what is recorded in the cluster cannot be read, or is not ours",
			Remedy:  "repair or rename the ConfigMap that the message names",
		},
		{
			Codes:   []Code{NotInstalled},
			Meaning: "Linkerd, its multicluster extension or one of its roles is missing",
			Remedy:  "install it, or declare `spec.linkerd`",
		},
		{
			Codes: []Code{OldLinkerd},
			Meaning: "a cluster runs a Linkerd that is too old for its end of the link; the message names the version " +
				"and what does not work",
			Remedy: "upgrade it as the message says; other links go on ([versions](docs/versions.md))",
		},
		{
			Codes:   []Code{Unreadable},
			Meaning: "`linkerd-config` lacks what is needed",
			Remedy:  "repair Linkerd's installation",
		},
	}
}
