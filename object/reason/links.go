package reason

// Codes of links and their ends.
const (
	NoGateway           Code = "NoGateway"
	LastAddress         Code = "LastAddress"
	Paced               Code = "Paced"
	StaleFacts          Code = "StaleFacts"
	NoAddress           Code = "NoAddress"
	NoSharedAnchor      Code = "NoSharedAnchor"
	AnchorExpires       Code = "AnchorExpires"
	AnchorsDiffer       Code = "AnchorsDiffer"
	NoCA                Code = "NoCA"
	NoCredential        Code = "NoCredential"
	AccessFails         Code = "AccessFails"
	GatewayDead         Code = "GatewayDead"
	NotWritten          Code = "NotWritten"
	NoController        Code = "NoController"
	NoLeader            Code = "NoLeader"
	EmptyMirrors        Code = "EmptyMirrors"
	NotLoaded           Code = "NotLoaded"
	Denied              Code = "Denied"
	NotAppliedYet       Code = "NotAppliedYet"
	InvalidDeclarations Code = "InvalidDeclarations"
	RepositoryNotRead   Code = "RepositoryNotRead"
	RevisionNotRead     Code = "RevisionNotRead"
	SecretMissing       Code = "SecretMissing"
	OtherRevision       Code = "OtherRevision"
	NotTold             Code = "NotTold"
	Leaving             Code = "Leaving"
	NotRead             Code = "NotRead"
	Settling            Code = "Settling"
	NotRendered         Code = "NotRendered"
	TargetNotRead       Code = "TargetNotRead"
	AnchorsApart        Code = "AnchorsApart"
	NotLed              Code = "NotLed"
	NotSeen             Code = "NotSeen"
	StagesHold          Code = "StagesHold"
	Untried             Code = "Untried"
	NoSecret            Code = "NoSecret"
	BadSecret           Code = "BadSecret"
	OwnSecret           Code = "OwnSecret"
	ShortGrant          Code = "ShortGrant"
	Token               Code = "Token"
	InUse               Code = "InUse"
	Unrenderable        Code = "Unrenderable"
	ImageNotAllowed     Code = "ImageNotAllowed"
	Occupied            Code = "Occupied"
	NotAdoptable        Code = "NotAdoptable"
	OtherTool           Code = "OtherTool"
	NotShown            Code = "NotShown"
	NotServed           Code = "NotServed"
	Existing            Code = "Existing"
	Overlay             Code = "Overlay"
	Suspended           Code = "Suspended"
	Left                Code = "Left"
	Going               Code = "Going"
	Draining            Code = "Draining"
	Waiting             Code = "Waiting"
	WaitingForSource    Code = "WaitingForSource"
	WaitingForTarget    Code = "WaitingForTarget"
	WaitingForLinks     Code = "WaitingForLinks"
	WaitingForSuccessor Code = "WaitingForSuccessor"
	NotReady            Code = "NotReady"
	Unread              Code = "Unread"
	PruneLimitExceeded  Code = "PruneLimitExceeded"
	Kept                Code = "Kept"
	PrunePolicy         Code = "PrunePolicy"
	EmptyTree           Code = "EmptyTree"
	NoCluster           Code = "NoCluster"
)

// links are the entries of those.
func links() []Entry {
	return []Entry{
		{
			Codes:   []Code{NoGateway},
			Meaning: "the target's gateway has no address, port, identity or probe",
			Remedy:  "repair it, or declare `spec.gateway`",
		},
		{
			Codes:   []Code{LastAddress},
			Meaning: "the target's gateway has no address now, and the link keeps the last one",
			Remedy:  "repair it, or declare `spec.gateway.addresses`",
		},
		{
			Codes:   []Code{Paced},
			Meaning: "the target's facts changed again within half a minute; the message says when the link follows",
			Remedy:  "nothing; see why its gateway moves so often",
		},
		{
			Codes:   []Code{StaleFacts},
			Meaning: "the target has given no answer since the moment that the message names; the link stays as it is",
			Remedy:  "see the reason at the target",
		},
		{
			Codes:   []Code{NoAddress},
			Meaning: "peers cannot use the address that linkwright itself uses",
			Remedy:  "declare `spec.apiServer`",
		},
		{
			Codes: []Code{NoSharedAnchor},
			Meaning: "proxies of source and target have no valid trust anchor in common; the message names " +
				"fingerprints and last days",
			Remedy: "give both the anchors of both, and start proxies anew ([trust " +
				"anchors](docs/credentials.md#trust-anchors))",
		},
		{
			Codes: []Code{AnchorExpires, AnchorsDiffer},
			Meaning: "the last shared trust anchor ends within 60 days; the two ends have anchors that the other has " +
				"not",
			Remedy: "end the rotation, or begin one",
		},
		{
			Codes:   []Code{NoCA},
			Meaning: "the cluster publishes no CA in `kube-root-ca.crt`",
			Remedy:  "its controller manager must run",
		},
		{
			Codes:   []Code{NoCredential},
			Meaning: "the target has issued no token yet",
			Remedy: "usually seconds; else look at the Secret `<owner>.<source>-token` in `linkwright-access`, and " +
				"with mode `Bound` at the report's failures",
		},
		{
			Codes: []Code{AccessFails},
			Meaning: "requests to the target with the link's credential do not pass, sent by linkwright; the message " +
				"names the request",
			Remedy: "grant what it names, or correct `apiServer`; where linkwright cannot reach what the source's " +
				"pods can, `preflight: Skip` or `Warn` " +
				"([credentials](docs/credentials.md#a-credential-is-tried-first))",
		},
		{
			Codes: []Code{GatewayDead},
			Meaning: "the controller in the source finds no address of the target's gateway alive: no mirror has one " +
				"that is ready",
			Remedy: "see that the gateway is reached from the source's pods ([health](docs/health.md#gateway-alive))",
		},
		{
			Codes: []Code{NotWritten, NoController, NoLeader, EmptyMirrors},
			Meaning: "a stage of a link that `check` tells of: a credential is not there, a controller is not ready, " +
				"or holds no lease, nobody serves behind a mirror",
			Remedy: "[health](docs/health.md#what-to-do)",
		},
		{
			Codes: []Code{NotLoaded},
			Meaning: "the stage *credentials loaded*: the source's control plane starts anew with a credential that " +
				"changed",
			Remedy: "nothing; if it does not end, look at Deployment `linkerd-destination` there",
		},
		{
			Codes: []Code{Denied},
			Meaning: "a guard, a limit or a policy denies what is to be done at an end of the link; MESSAGE has its " +
				"reason",
			Remedy: "as that reason says",
		},
		{
			Codes: []Code{NotAppliedYet},
			Meaning: "`status` with a repository: its head is newer than the applied revision, and no sync has applied " +
				"it yet",
			Remedy: "nothing: the next sync does",
		},
		{
			Codes: []Code{InvalidDeclarations},
			Meaning: "`status`: the observed revision has errors, and the applied one stays; the message names the " +
				"first error's file and line",
			Remedy: "mend it: `linkwright validate PATH` lists all errors",
		},
		{
			Codes: []Code{RepositoryNotRead, RevisionNotRead},
			Meaning: "`status`: the repository cannot be read; or the tree of its newest revision cannot be read, or " +
				"is not trusted",
			Remedy: "as the message says; the applied revision stays",
		},
		{
			Codes:   []Code{SecretMissing},
			Meaning: "`status` without a repository: somebody deleted a Secret of the link",
			Remedy:  "nothing: a daemon or the next sync writes it again; else look at the log",
		},
		{
			Codes: []Code{OtherRevision},
			Meaning: "`status` without a repository: a cluster of the link carries another revision than the applied " +
				"one",
			Remedy: "nothing if a sync is under way; else see the reason at that cluster",
		},
		{
			Codes:   []Code{NotTold, Leaving},
			Meaning: "`status` without a repository: nothing was written about the link yet; the link is being removed",
			Remedy:  "nothing: a sync writes it; `linkwright status --repo` shows what is missing",
		},
		{
			Codes: []Code{NotRead},
			Meaning: "`status` without a repository: a cluster that links tell of is not remembered by the home " +
				"cluster, and was not read",
			Remedy: "`linkwright status --repo`; the next pass remembers it",
		},
		{
			Codes:   []Code{Settling, NotRendered, TargetNotRead, AnchorsApart, NotLed, NotSeen, StagesHold},
			Meaning: "reasons of a link's conditions",
			Remedy:  "[health](docs/health.md#conditions)",
		},
		{
			Codes:   []Code{Untried},
			Meaning: "the credential is tried before it is written",
			Remedy:  "wait: that takes seconds",
		},
		{
			Codes: []Code{NoSecret, BadSecret},
			Meaning: "`credentials.mode` is `Existing`, and the Secret that the message names is missing, or of no use " +
				"to Linkerd",
			Remedy: "let your secret manager write it as [docs/credentials.md](docs/credentials.md) says",
		},
		{
			Codes:   []Code{OwnSecret},
			Meaning: "`credentials.mode` is `Existing` now, and the Secret is still linkwright's own",
			Remedy:  "hand it over as the message says, or name another one in `secretRef`",
		},
		{
			Codes:   []Code{Existing},
			Meaning: "`rotate`: `credentials.mode` is `Existing`, so the token is your secret manager's",
			Remedy:  "have that write another one",
		},
		{
			Codes: []Code{ShortGrant},
			Meaning: "the target's API server grants tokens that live shorter than `credentials.ttl`; under a week is " +
				"not enough for remote discovery and federation",
			Remedy: "raise its `--service-account-max-token-expiration`, or use another mode",
		},
		{
			Codes:   []Code{Token},
			Meaning: "the target did not issue a token; the message says why",
			Remedy:  "usually a right: apply `deploy/cluster`",
		},
		{
			Codes:   []Code{InUse},
			Meaning: "an account or a token stays in the target until the source uses the other credential",
			Remedy:  "nothing: it goes by itself; else see the reason at the source's end",
		},
		{
			Codes:   []Code{Unrenderable},
			Meaning: "an object cannot be made of what is declared",
			Remedy:  "the message says why; please report it",
		},
		{
			Codes:   []Code{ImageNotAllowed},
			Meaning: "a link names a `controller.image` that this installation does not allow",
			Remedy:  "leave it out, or start linkwright with `--allow-controller-image PREFIX`",
		},
		{
			Codes:   []Code{Occupied},
			Meaning: "an object of that name exists and is not ours",
			Remedy: "`linkwright adopt`, where Linkerd's own tools made it; else delete or rename it, or remove the " +
				"link",
		},
		{
			Codes: []Code{NotAdoptable},
			Meaning: "`adopt`: an object has the name of a part of the link, and not the labels that Linkerd's own " +
				"tools give it",
			Remedy: "delete or rename it",
		},
		{
			Codes:   []Code{OtherTool},
			Meaning: "`adopt`: Argo CD or Flux say that they keep an object",
			Remedy:  "do there what the message says, and `--force-manager`",
		},
		{
			Codes:   []Code{NotShown},
			Meaning: "`adopt`: an object came after what is adopted was shown",
			Remedy:  "run it again",
		},
		{
			Codes:   []Code{NotServed},
			Meaning: "an overlay brings in an object of a kind that the cluster does not serve",
			Remedy: "install what brings the kind, or take the object out of the overlay; until then only the " +
				"cluster's base is held",
		},
		{
			Codes:   []Code{Overlay},
			Meaning: "the cluster's overlay is wrong, or changes what no overlay may",
			Remedy:  "the message says what and where; [docs/overlays.md](docs/overlays.md) says what is allowed",
		},
		{
			Codes: []Code{Suspended},
			Meaning: "`suspend: true` is declared of the link or of a cluster at either end, or somebody ran " +
				"`linkwright suspend`",
			Remedy: "nothing; to go on, take `suspend` out, or run `linkwright resume` as the message says",
		},
		{
			Codes:   []Code{Left},
			Meaning: "a cluster with `state: Leaving` holds nothing of linkwright any more",
			Remedy:  "its declaration can be removed",
		},
		{
			Codes:   []Code{Going},
			Meaning: "an object is still being deleted",
			Remedy:  "a finalizer may hold it",
		},
		{
			Codes:   []Code{Draining},
			Meaning: "Linkerd's controller takes the mirrors of a removed link away",
			Remedy: "nothing; what is left at `prune.drainDeadline` is swept " +
				"([how](docs/prune.md#the-gates-of-an-unlink))",
		},
		{
			Codes:   []Code{Waiting, WaitingForSource, WaitingForTarget, WaitingForLinks},
			Meaning: "the removal of a link waits for what the message names",
			Remedy: "nothing; a source that cannot be read keeps its access until the moment that the message names " +
				"(`--access-grace`)",
		},
		{
			Codes: []Code{WaitingForSuccessor},
			Meaning: "what a move replaces stays until what takes its place is written and ready " +
				"([moves](docs/prune.md#moves))",
			Remedy: "nothing, once that gets ready: the message names what it lacks, or that it is suspended. If that " +
				"is never to be: declare it as it was before, or take the new link out, and what is there goes",
		},
		{
			Codes: []Code{NotReady},
			Meaning: "all is as declared, and a Deployment, or what an overlay brings in, is not ready; the message " +
				"says what",
			Remedy: "look at its pods; links are changed and removed all the same",
		},
		{
			Codes:   []Code{Unread},
			Meaning: "something is to be taken away, and is read once more before",
			Remedy:  "nothing: it follows at once; else see the reason at the cluster that the message names",
		},
		{
			Codes: []Code{PruneLimitExceeded},
			Meaning: "the revision would remove more clusters, links or mirrored Services than its limits allow; " +
				"nothing is removed anywhere ([limits](docs/prune.md#limits))",
			Remedy: "restore the declarations, declare `state: Leaving` for a cluster that is to go, or approve it: " +
				"`linkwright approve HASH`",
		},
		{
			Codes:   []Code{Kept},
			Meaning: "an object carries `linkwright.dev/prune: disabled`",
			Remedy:  "remove the annotation to let it go",
		},
		{
			Codes:   []Code{PrunePolicy},
			Meaning: "the policy is `UpsertOnly` or `CreateOnly`",
			Remedy:  "that is what it is for; `Sync` deletes",
		},
		{
			Codes:   []Code{EmptyTree, NoCluster},
			Meaning: "the commit declares nothing",
			Remedy:  "is `--path` right?",
		},
	}
}
