package reason

// Codes of what is rendered and applied.
const (
	RenderFailed       Code = "RenderFailed"
	ImageNotAllowed    Code = "ImageNotAllowed"
	OverlayInvalid     Code = "OverlayInvalid"
	KindNotServed      Code = "KindNotServed"
	ObjectExists       Code = "ObjectExists"
	NotAdoptable       Code = "NotAdoptable"
	ManagedByOtherTool Code = "ManagedByOtherTool"
	ChangedSinceShown  Code = "ChangedSinceShown"
	NotReady           Code = "NotReady"
	Suspended          Code = "Suspended"
	Resumed            Code = "Resumed"
	RemovalApproved    Code = "RemovalApproved"
	ApprovalWithdrawn  Code = "ApprovalWithdrawn"
	Denied             Code = "Denied"
)

func applying() Group {
	return Group{Title: "Rendering and applying", Entries: append(rendering(), states()...)}
}

// rendering returns why an object cannot be rendered or taken over.
func rendering() []Entry {
	return []Entry{
		{
			Code:    RenderFailed,
			Meaning: "linkwright cannot make an object from the declaration.",
			Remedy:  "Correct the declaration as the message says. If it looks correct, please report it.",
		},
		{
			Code:    ImageNotAllowed,
			Meaning: "A link declares a `controller.image` that this installation does not allow.",
			Remedy:  "Remove it, or start linkwright with `--allow-controller-image PREFIX`.",
		},
		{
			Code:    OverlayInvalid,
			Meaning: "The cluster's overlay is wrong, or changes something that an overlay must not change.",
			Remedy:  "Correct what the message names: `linkwright validate PATH` gives file and line ([overlays](docs/how-to/overlays.md)).",
		},
		{
			Code:    KindNotServed,
			Meaning: "An overlay adds an object of a kind that the cluster does not serve.",
			Remedy:  "Install the CRD, or remove the object from the overlay. Until then only the cluster's base is blocked.",
		},
		{
			Code:    ObjectExists,
			Meaning: "An object of that name exists and is not linkwright's.",
			Remedy:  "Run `linkwright adopt SOURCE/TARGET` if a working link uses it. Otherwise delete or rename it, or remove the link.",
		},
		{
			Code:    NotAdoptable,
			Meaning: "An object has the name of a part of the link, and lacks the labels that Linkerd's tools set.",
			Remedy:  "Add the labels that the message names if the link uses it. Otherwise delete or rename it.",
		},
		{
			Code:    ManagedByOtherTool,
			Meaning: "`adopt`: Argo CD or Flux manages an object.",
			Remedy:  "Do there what the message says, and use `--force-manager`.",
		},
		{
			Code:    ChangedSinceShown,
			Meaning: "`adopt`: an object appeared after the plan was shown.",
			Remedy:  "Run the command again.",
		},
	}
}

// states returns how what is written is, and why nothing is written.
func states() []Entry {
	return []Entry{
		{
			Code:    NotReady,
			Meaning: "All is as declared, and a Deployment or an object of an overlay is not ready. The message says what.",
			Remedy:  "Look at its pods. linkwright still changes and removes links.",
		},
		{
			Code:    Suspended,
			Meaning: "The link or one of its clusters has `suspend: true`, or somebody ran `linkwright suspend`.",
			Remedy:  "If linkwright is to write again, remove `suspend`, or run `linkwright resume` as the message says.",
		},
		{
			Code:    Resumed,
			Meaning: "`events`: somebody ran `linkwright resume`, or the time that `linkwright suspend --until` set is over.",
			Remedy:  "Nothing.",
		},
		{
			Code:    RemovalApproved,
			Meaning: "`events`: somebody ran `linkwright approve`.",
			Remedy:  "Nothing. The next sync removes what the message names.",
		},
		{
			Code:    ApprovalWithdrawn,
			Meaning: "`events`: somebody ran `linkwright approve --withdraw`.",
			Remedy:  "Nothing. A removal that began before goes on.",
		},
		{
			Code:    Denied,
			Meaning: "A guard, a limit or a policy denies a change. MESSAGE has its reason.",
			Remedy:  "See that reason.",
		},
	}
}
