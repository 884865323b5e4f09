package reason

// Codes of a rollout: workloads that restart because they run outdated proxies.
const (
	RestartFailed        Code = "RestartFailed"
	RestartWithoutEffect Code = "RestartWithoutEffect"
	RolloutHalted        Code = "RolloutHalted"
	RolloutPaused        Code = "RolloutPaused"
	WaitingForInjector   Code = "WaitingForInjector"
	WaitingForWave       Code = "WaitingForWave"
	WaitingForWorkloads  Code = "WaitingForWorkloads"
	WorkloadsNotRead     Code = "WorkloadsNotRead"
)

func rollouts() Group {
	return Group{Title: "Restarts of workloads", Entries: []Entry{
		{
			Code:    RestartFailed,
			Meaning: "linkwright restarted a workload, and it is not ready in time. No other workload restarts, unless `pauseOnFailure` is false.",
			Remedy:  "Repair the workload, or undo its restart with `linkwright rollout undo`. The rollout goes on once it is ready.",
		},
		{
			Code:    RestartWithoutEffect,
			Meaning: "linkwright restarted a workload, and its pods still run another proxy than a new pod would get. It is not restarted again.",
			Remedy:  "Look at what changes its pods beside Linkerd's injector. Restart it yourself if the injector was late.",
		},
		{
			Code:    RolloutHalted,
			Meaning: "A restart failed in another cluster of the same rollout.",
			Remedy:  "Repair the workload that the message names.",
		},
		{
			Code:    RolloutPaused,
			Meaning: "Somebody paused the restarts of a cluster: `linkwright rollout pause`.",
			Remedy:  "Run `linkwright rollout resume`.",
		},
		{
			Code:    WaitingForInjector,
			Meaning: "The configuration of proxies changed. linkwright gives Linkerd's injector two minutes to read it.",
		},
		{
			Code:    WaitingForWave,
			Meaning: "The rollout is not complete in the clusters of a wave before.",
			Remedy:  "Look at the clusters that the message names.",
		},
		{
			Code:    WaitingForWorkloads,
			Meaning: "Workloads with outdated proxies cannot restart now: they are not ready or paused, or a PodDisruptionBudget allows no disruption.",
			Remedy:  "Look at the workload that the message names.",
		},
		{
			Code:    WorkloadsNotRead,
			Meaning: "linkwright cannot read the workloads of a cluster, or compare their proxies. It restarts none that it could not compare.",
			Remedy:  "Grant the rights that the message names, or repair the injector.",
		},
	}}
}
