package reason

// Codes of tokens and Secrets.
const (
	CredentialNotIssued   Code = "CredentialNotIssued"
	TokenLifetimeTooShort Code = "TokenLifetimeTooShort"
	CredentialNotVerified Code = "CredentialNotVerified"
	CredentialNotAccepted Code = "CredentialNotAccepted"
	CredentialNotLoaded   Code = "CredentialNotLoaded"
	CredentialInUse       Code = "CredentialInUse"
	SecretNotFound        Code = "SecretNotFound"
	SecretInvalid         Code = "SecretInvalid"
	SecretStillManaged    Code = "SecretStillManaged"
	ExistingCredential    Code = "ExistingCredential"
	SecretMissing         Code = "SecretMissing"
)

func credentials() Group {
	return Group{Title: "Credentials", Entries: []Entry{
		{
			Code:    CredentialNotIssued,
			Meaning: "The target has not issued a token yet.",
			Remedy: "Wait some seconds. If it stays, look at the Secret `<owner>.<source>-token` in `linkwright-access`; with " +
				"mode `Bound`, at the failures in the report: a right is usually missing.",
		},
		{
			Code: TokenLifetimeTooShort,
			Meaning: "The target's API server issues tokens that live shorter than `credentials.ttl`. Less than a week is not enough " +
				"for remote discovery and federation.",
			Remedy: "Raise its `--service-account-max-token-expiration`, or use another mode.",
		},
		{
			Code:    CredentialNotVerified,
			Meaning: "linkwright has not verified the credential. It verifies each one before it writes it, but not that of a suspended link.",
			Remedy:  "Wait: it takes seconds. Resume a suspended link.",
		},
		{
			Code:    CredentialNotAccepted,
			Meaning: "The target refused a request that linkwright sent with the link's credential. The message names the request.",
			Remedy: "Grant it, or correct `apiServer`. If linkwright cannot reach what the source's pods can reach, declare " +
				"`preflight: Skip` or `Warn` ([credentials](docs/explanation/credentials.md#a-credential-is-verified-first)).",
		},
		{
			Code: CredentialNotLoaded,
			Meaning: "Linkerd's destination controller in the source still uses a former credential, or restarts to load the new " +
				"one.",
			Remedy: "Nothing if the message names a time. Otherwise grant `get` and `patch` on the Deployment " +
				"`linkerd-destination`, or restart it ([how](docs/explanation/credentials.md#the-control-plane-is-restarted)).",
		},
		{
			Code:    CredentialInUse,
			Meaning: "An account or a token stays in the target until the source uses the other credential.",
			Remedy:  "Nothing: linkwright removes it then. If it stays, see the reason of the source's end.",
		},
		{
			Code:    SecretNotFound,
			Meaning: "`credentials.mode` is `Existing`, and the Secret in the message does not exist.",
			Remedy:  "Have your secret manager write it ([what it must contain](docs/explanation/credentials.md#existing-what-your-secret-manager-must-write)).",
		},
		{
			Code:    SecretInvalid,
			Meaning: "`credentials.mode` is `Existing`, and Linkerd cannot use the Secret in the message.",
			Remedy:  "Have your secret manager write it again ([what it must contain](docs/explanation/credentials.md#existing-what-your-secret-manager-must-write)).",
		},
		{
			Code:    SecretStillManaged,
			Meaning: "`credentials.mode` is `Existing` now, and linkwright still manages the Secret.",
			Remedy:  "Hand it over as the message says, or name another one in `secretRef`.",
		},
		{
			Code:    ExistingCredential,
			Meaning: "`rotate`: `credentials.mode` is `Existing`, so your secret manager issues the token.",
			Remedy:  "Have your secret manager write a new one.",
		},
		{
			Code:    SecretMissing,
			Meaning: "`status` without a repository: a Secret of the link was deleted.",
			Remedy:  "Nothing: a daemon or the next sync writes it again. If it stays missing, see the log.",
		},
	}}
}
