package reason

// Codes of the stages and conditions of a link.
const (
	Healthy                 Code = "Healthy"
	Progressing             Code = "Progressing"
	NotRendered             Code = "NotRendered"
	TargetNotRead           Code = "TargetNotRead"
	EndNotRead              Code = "EndNotRead"
	CredentialsNotWritten   Code = "CredentialsNotWritten"
	ControllerNotReady      Code = "ControllerNotReady"
	ControllerNotLeading    Code = "ControllerNotLeading"
	GatewayNotAlive         Code = "GatewayNotAlive"
	MirrorsWithoutEndpoints Code = "MirrorsWithoutEndpoints"
	NoMirrors               Code = "NoMirrors"
)

func health() Group {
	return Group{Title: "Health of a link", Entries: []Entry{
		{
			Code:    Healthy,
			Meaning: "All stages of the link passed.",
			Remedy:  "Nothing.",
		},
		{
			Code:    Progressing,
			Meaning: "The link is being set up, or a change takes effect.",
			Remedy:  "Nothing. After 5 minutes another reason says what is missing.",
		},
		{
			Code:    NotRendered,
			Meaning: "The source's end cannot be rendered: something that it is made of is missing.",
			Remedy:  "See the reason of that end.",
		},
		{
			Code:    TargetNotRead,
			Meaning: "The target cannot be read.",
			Remedy:  "See the reason of the target.",
		},
		{
			Code:    EndNotRead,
			Meaning: "One of the two clusters was not read.",
			Remedy:  "See the reason of that cluster.",
		},
		{
			Code:    CredentialsNotWritten,
			Meaning: "A Secret of the link is not there yet.",
			Remedy:  "See [health](docs/explanation/health.md#what-to-do).",
		},
		{
			Code:    ControllerNotReady,
			Meaning: "The link's controller is missing or not ready.",
			Remedy:  "See its pods ([health](docs/explanation/health.md#what-to-do)).",
		},
		{
			Code:    ControllerNotLeading,
			Meaning: "No controller holds the link's Lease, so nothing is mirrored.",
			Remedy:  "See the controller's log ([health](docs/explanation/health.md#what-to-do)).",
		},
		{
			Code:    GatewayNotAlive,
			Meaning: "The controller's probe of the target's gateway fails: no mirror has a ready address.",
			Remedy:  "Check that the source's pods reach the gateway ([health](docs/explanation/health.md#gateway-alive)).",
		},
		{
			Code:    MirrorsWithoutEndpoints,
			Meaning: "A mirror has no endpoint, because no pod serves behind it.",
			Remedy:  "Check the Services in the target ([health](docs/explanation/health.md#what-to-do)).",
		},
		{
			Code:    NoMirrors,
			Meaning: "The link has no mirror with an address, so nothing shows whether the gateway is alive.",
			Remedy:  "Nothing. Export a Service in the target to see it.",
		},
	}}
}
