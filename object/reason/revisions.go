package reason

// Codes of revisions, and of status without a repository.
const (
	InvalidDeclarations Code = "InvalidDeclarations"
	TooManyLinks        Code = "TooManyLinks"
	RepositoryNotRead   Code = "RepositoryNotRead"
	RevisionNotRead     Code = "RevisionNotRead"
	NotAppliedYet       Code = "NotAppliedYet"
	RevisionMismatch    Code = "RevisionMismatch"
	NotReported         Code = "NotReported"
	Leaving             Code = "Leaving"
	NotRead             Code = "NotRead"
	NotSynced           Code = "NotSynced"
)

func revisions() Group {
	return Group{Title: "Revisions and `status`", Entries: []Entry{
		{
			Code:    InvalidDeclarations,
			Meaning: "The observed revision has errors, and the applied one stays. The message names the first file and line.",
			Remedy:  "Correct it: `linkwright validate PATH` lists all errors.",
		},
		{
			Code:    TooManyLinks,
			Meaning: "The commit declares more links than `--max-links` allows, so it is refused whole. The applied revision stays.",
			Remedy:  "Select fewer clusters. Or raise `--max-links` and the memory limit ([limits](docs/explanation/limits.md#scale-and-versions)).",
		},
		{
			Code:    RepositoryNotRead,
			Meaning: "linkwright cannot read the repository, so it sees no new revision. The applied one stays.",
			Remedy:  "Look up the error in [errors and checks](docs/reference/git.md#errors-and-checks).",
		},
		{
			Code:    RevisionNotRead,
			Meaning: "The newest revision is not applied, because it cannot be read, or is not signed by a trusted key. The applied one stays.",
			Remedy:  "Sign the commit, or add its key ([signatures](docs/how-to/git.md#signatures)). If it cannot be read, look up the error in [errors and checks](docs/reference/git.md#errors-and-checks).",
		},
		{
			Code:    NotAppliedYet,
			Meaning: "No sync has applied the observed revision yet.",
			Remedy:  "Nothing if a daemon runs: it does that. Otherwise run `linkwright sync --repo URL`.",
		},
		{
			Code:    RevisionMismatch,
			Meaning: "`status` without a repository: a cluster of the link carries another revision than the applied one.",
			Remedy:  "Nothing during a sync. Otherwise see the reason of that cluster.",
		},
		{
			Code:    NotReported,
			Meaning: "`status` without a repository: linkwright has written nothing about the link yet.",
			Remedy:  "Nothing: a sync writes it. `linkwright status --repo` shows what is missing.",
		},
		{
			Code:    Leaving,
			Meaning: "The link is being removed.",
			Remedy:  "Nothing.",
		},
		{
			Code:    NotRead,
			Meaning: "Nothing is known of the link, because its cluster was not read.",
			Remedy:  "Run `linkwright status --repo`.",
		},
		{
			Code: NotSynced,
			Meaning: "`status` without a repository: nobody knows whether the link is still Ready, because the process that synced its " +
				"source stopped renewing its Lease.",
			Remedy: "Start `linkwright run` again. `linkwright status --repo URL` shows how the link is now.",
		},
	}}
}
