package reason

// Codes of a cluster that cannot be reached.
const (
	AccessInvalid        Code = "AccessInvalid"
	Unreachable          Code = "Unreachable"
	UntrustedCertificate Code = "UntrustedCertificate"
	Timeout              Code = "Timeout"
	Unauthorized         Code = "Unauthorized"
	Forbidden            Code = "Forbidden"
	WatchForbidden       Code = "WatchForbidden"
	NotConfined          Code = "NotConfined"
	NotServiceAccount    Code = "NotServiceAccount"
	ClusterUIDMissing    Code = "ClusterUIDMissing"
)

func reach() Group {
	return Group{Title: "A cluster cannot be reached", Entries: []Entry{
		{
			Code:    AccessInvalid,
			Meaning: "The access Secret of a cluster, or its key, is missing; or its kubeconfig refers to files or plugins.",
			Remedy: "Create the Secret in linkwright's namespace of the management cluster, with all certificates and tokens " +
				"inside. `linkwright cluster add NAME PATH --context CONTEXT` does that.",
		},
		{
			Code:    Unreachable,
			Meaning: "linkwright cannot connect to the API server.",
			Remedy:  "Check that the API server is up, and that linkwright's pod can reach its address.",
		},
		{
			Code:    UntrustedCertificate,
			Meaning: "The API server's certificate does not match the CA or the host name in the kubeconfig.",
			Remedy:  "Compare both with the cluster's. `linkwright cluster add NAME PATH --context CONTEXT` writes a new kubeconfig.",
		},
		{
			Code:    Timeout,
			Meaning: "linkwright connected, and the API server gave no answer in time.",
			Remedy:  "Check the API server's load, or raise `--cluster-timeout`.",
		},
		{
			Code:    Unauthorized,
			Meaning: "The API server does not accept linkwright's credentials.",
			Remedy:  "The token has expired or was revoked: `linkwright cluster add NAME PATH --context CONTEXT` writes a new one.",
		},
		{
			Code: Forbidden,
			Meaning: "linkwright's account lacks the right in the message. Only what needs it is blocked; a few rights block the whole " +
				"cluster ([which](docs/how-to/access.md#if-a-right-is-missing)).",
			Remedy: "Run the command in the message.",
		},
		{
			Code: WatchForbidden,
			Meaning: "linkwright's account may read an object or a kind, and may not watch it. linkwright reads it every 30 s " +
				"instead, so it repairs changes later.",
			Remedy: "Grant `list` and `watch`, as the message says.",
		},
		{
			Code: NotConfined,
			Meaning: "The admission policies that confine linkwright's account are missing, changed, or of another version of " +
				"linkwright.",
			Remedy: "Run the command in the message with your own login. Only `--require-confinement` makes linkwright stop writing " +
				"to such a cluster.",
		},
		{
			Code:    NotServiceAccount,
			Meaning: "linkwright uses a login that is not a ServiceAccount. Admission policies can confine only a ServiceAccount.",
			Remedy:  "Nothing for an evaluation. Otherwise give linkwright an account: `linkwright cluster add NAME PATH --context CONTEXT`.",
		},
		{
			Code:    ClusterUIDMissing,
			Meaning: "linkwright cannot see the namespace `kube-system`, whose uid identifies a cluster.",
			Remedy:  "Check that the access leads to a Kubernetes cluster.",
		},
	}}
}
