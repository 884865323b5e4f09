package reason

// Codes of the stages and conditions of a link.
const (
	Healthy                 Code = "Healthy"
	Progressing             Code = "Progressing"
	NotRendered             Code = "NotRendered"
	TargetNotRead           Code = "TargetNotRead"
	EndNotRead              Code = "EndNotRead"
	CredentialsNotWritten   Code = "CredentialsNotWritten"
	ControllerMissing       Code = "ControllerMissing"
	ControllerNotReady      Code = "ControllerNotReady"
	ControllerNotLeading    Code = "ControllerNotLeading"
	GatewayNotAlive         Code = "GatewayNotAlive"
	MirrorsWithoutEndpoints Code = "MirrorsWithoutEndpoints"
	NoMirrors               Code = "NoMirrors"
)

func health() Group {
	return Group{Title: "Health of a link", Entries: append(conditions(), stages()...)}
}

// conditions returns the reasons that only conditions have.
func conditions() []Entry {
	return []Entry{
		{
			Code:    Healthy,
			Meaning: "All stages of the link passed.",
			Remedy:  "Nothing.",
		},
		{
			Code:    Progressing,
			Meaning: "The link is being set up, or a change is to be written or takes effect.",
			Remedy:  "Nothing: a daemon or the next sync goes on. After 5 minutes another reason says what is missing.",
		},
		{
			Code:    NotRendered,
			Meaning: "The link is not written or not updated, because something that the source's end is made of is missing.",
			Remedy:  "See the reason of the source's end: `linkwright describe link SOURCE/TARGET --repo URL` shows it.",
		},
		{
			Code:    TargetNotRead,
			Meaning: "The link stays as it is, because the target cannot be read.",
			Remedy:  "See the reason of the target.",
		},
		{
			Code:    EndNotRead,
			Meaning: "Nothing is known of the link now, because one of its two clusters was not read.",
			Remedy:  "See the reason of that cluster.",
		},
	}
}

// stages returns the reasons of stages.
func stages() []Entry {
	return []Entry{
		{
			Code:    CredentialsNotWritten,
			Meaning: "The link does not work yet, because one of its Secrets in the source is missing.",
			Remedy:  "See the reason of the source's end. With `credentials.mode: Existing`, have your secret manager write the Secret ([health](docs/explanation/health.md#credentials-written)).",
		},
		{
			Code:    ControllerMissing,
			Meaning: "New Services are not mirrored, because the Deployment of the link's controller does not exist.",
			Remedy:  "A daemon or the next sync writes it. If none does, `linkwright describe link SOURCE/TARGET --repo URL` shows why.",
		},
		{
			Code:    ControllerNotReady,
			Meaning: "New Services are not mirrored, because the link's controller is not ready.",
			Remedy:  "Look at the pods and events of the Deployment `controller-<target>` in the source ([health](docs/explanation/health.md#controller-leads)).",
		},
		{
			Code:    ControllerNotLeading,
			Meaning: "Nothing is mirrored, because no controller holds the link's Lease.",
			Remedy:  "Read the log of the Deployment `controller-<target>`: usually it cannot read the target ([health](docs/explanation/health.md#controller-leads)).",
		},
		{
			Code:    GatewayNotAlive,
			Meaning: "Requests to mirrors fail, because the controller's probe of the target's gateway fails. No mirror has a ready address.",
			Remedy:  "Check that the source's pods reach the gateway's address and probe port ([health](docs/explanation/health.md#gateway-alive)).",
		},
		{
			Code:    MirrorsWithoutEndpoints,
			Meaning: "Requests to a mirror fail, because no pod behind its Service in the target is ready.",
			Remedy:  "Check the pods of the Services in the message, in the target ([health](docs/explanation/health.md#mirrors-have-endpoints)).",
		},
		{
			Code:    NoMirrors,
			Meaning: "The link has no mirror with an address, so nothing shows whether the gateway is alive.",
			Remedy:  "Nothing. Export a Service in the target to see it.",
		},
	}
}
