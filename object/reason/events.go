package reason

// Codes of Events about what got better or ended, or is no condition of a link.
const (
	Applied        Code = "Applied"
	Ready          Code = "Ready"
	Reachable      Code = "Reachable"
	Removed        Code = "Removed"
	Confined       Code = "Confined"
	CleanupPending Code = "CleanupPending"
	OrphansFound   Code = "OrphansFound"
	OrphansGone    Code = "OrphansGone"
	ProxyRestart   Code = "ProxyRestart"
	ConfigUpdated  Code = "ConfigUpdated"
)

// Events returns the codes that only Events have.
func Events() Group {
	return Group{Title: "Events", Entries: []Entry{
		{Code: Applied, Meaning: "The revision whose declarations apply."},
		{Code: Ready, Meaning: "All is as declared, and the link works. A cluster can be read and written."},
		{Code: Reachable, Meaning: "The cluster can be read again, and written."},
		{Code: Removed, Meaning: "The link is not declared any more, and nothing of it is left."},
		{Code: Confined, Meaning: "Admission policies confine linkwright's account in the cluster again."},
		{
			Code: CleanupPending, Meaning: "A cluster that cannot be read still has objects of a removed link.",
			Remedy: "Nothing if the cluster comes back: linkwright removes them then. If it never does, remove its declaration and run `linkwright abandon NAME`.",
		},
		{
			Code: OrphansFound, Meaning: "A cluster has objects with linkwright's label that no inventory lists.",
			Remedy: "Delete those that are not needed ([orphans](docs/explanation/prune.md#orphans-and-what-nobody-declares)).",
		},
		{Code: OrphansGone, Meaning: "The cluster has no orphans any more."},
		{Code: ConfigUpdated, Meaning: "An Event of `linkerd-config` in a cluster with a rollout: what proxies get changed, and linkwright compares the workloads."},
		{Code: ProxyRestart, Meaning: "An Event of a workload: linkwright restarts it, because its pods run an outdated proxy."},
	}}
}
