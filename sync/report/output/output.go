// Package output answers: what do programs read of an answer? It holds the Go types of all answers as JSON and YAML, and encodes them. Their
// comments are the text of docs/schema/output and docs/reference/output.md.
package output

// APIVersion is that of every answer. Fields are added within one version; none is renamed or removed, and none changes its type or meaning.
const APIVersion = "cli.linkwright.dev/v1alpha1"

// Kinds of answers. Kinds lists all of them.
const (
	KindLink         = "Link"
	KindLinkList     = "LinkList"
	KindCluster      = "Cluster"
	KindClusterList  = "ClusterList"
	KindRevision     = "Revision"
	KindRevisionList = "RevisionList"
	KindGateway      = "Gateway"
	KindGatewayList  = "GatewayList"
	KindWorkload     = "Workload"
	KindWorkloadList = "WorkloadList"
	KindEvent        = "Event"
	KindEventList    = "EventList"
	KindStatus       = "Status"
	KindSyncReport   = "SyncReport"
	KindDiff         = "Diff"
	KindCheck        = "Check"
	KindProblemList  = "ProblemList"
	KindVersion      = "Version"
	KindDecisionList = "DecisionList"
	KindRotationList = "RotationList"
	KindExplanation  = "Explanation"

	KindRestarts     = "Restarts"
	KindRestartsList = "RestartsList"

	KindTrustAnchor     = "TrustAnchor"
	KindTrustAnchorList = "TrustAnchorList"
	KindTrustNeed       = "TrustNeed"
	KindTrustNeedList   = "TrustNeedList"
	KindExplanationList = "ExplanationList"
	KindDeclarationList = "DeclarationList"
	KindBootstrap       = "Bootstrap"
	KindManifestList    = "ManifestList"
)

// Kinds are all kinds of answers, in the order of the reference.
func Kinds() []string {
	return []string{
		KindStatus, KindSyncReport, KindLink, KindLinkList, KindCluster, KindClusterList, KindRevision, KindRevisionList, KindGateway, KindGatewayList,
		KindWorkload, KindWorkloadList, KindRestarts, KindRestartsList, KindTrustAnchor, KindTrustAnchorList, KindTrustNeed, KindTrustNeedList,
		KindEvent, KindEventList,
		KindDiff, KindCheck, KindDecisionList, KindRotationList, KindDeclarationList, KindBootstrap, KindManifestList, KindProblemList,
		KindExplanation, KindExplanationList, KindVersion,
	}
}

// TypeMeta begins every answer, and every item of a list.
type TypeMeta struct {
	// APIVersion is the version of the answer's schema: cli.linkwright.dev/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is the kind of the answer, such as Link or Status.
	Kind string `json:"kind"`
}

// Of gives what an answer of a kind begins with.
func Of(kind string) TypeMeta { return TypeMeta{APIVersion, kind} }

// List is several answers of one kind.
type List[Item any] struct {
	TypeMeta
	// Items are in the order in which the table shows them.
	Items []Item `json:"items"`
}

// Version is the answer of "version".
type Version struct {
	TypeMeta
	// Version is that of linkwright.
	Version string `json:"version"`
	// GitCommit is the commit that it was built from, if Go recorded one.
	GitCommit string `json:"gitCommit,omitempty"`
	// GitTreeState says whether the sources differed from that commit: dirty, or clean.
	GitTreeState string `json:"gitTreeState,omitempty" jsonschema:"enum=clean,enum=dirty"`
	// GoVersion is the release of Go that built it.
	GoVersion string `json:"goVersion"`
	// Platform is the operating system and the architecture, such as linux/amd64.
	Platform string `json:"platform"`
}

// Named is an answer, or an item of a list, that has a name of its own.
type Named interface {
	// Ref is kind/name, such as link/west/east.
	Ref() string
}

// Items are the items of a list, or the answer alone.
func Items(answer any) []any {
	switch a := answer.(type) {
	case List[Link]:
		return each(a.Items)
	case List[Cluster]:
		return each(a.Items)
	case List[Revision]:
		return each(a.Items)
	case List[Gateway]:
		return each(a.Items)
	case List[Workload]:
		return each(a.Items)
	case List[Restarts]:
		return each(a.Items)
	case List[TrustAnchor]:
		return each(a.Items)
	case List[TrustNeed]:
		return each(a.Items)
	case List[Event]:
		return each(a.Items)
	case ProblemList:
		return each(a.Items)
	case List[Explanation]:
		return each(a.Items)
	case DecisionList:
		return each(a.Items)
	case RotationList:
		return each(a.Items)
	case DeclarationList:
		return each(a.Items)
	case ManifestList:
		return each(a.Items)
	}
	return []any{answer}
}

func each[Item any](items []Item) []any {
	out := make([]any, len(items))
	for i, one := range items {
		out[i] = one
	}
	return out
}
