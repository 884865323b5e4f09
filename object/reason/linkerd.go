package reason

// Codes of Linkerd's installation in a cluster, and of what a cluster shows of it.
const (
	LinkerdNotInstalled     Code = "LinkerdNotInstalled"
	LinkerdTooOld           Code = "LinkerdTooOld"
	LinkerdConfigInvalid    Code = "LinkerdConfigInvalid"
	ValueNotSupported       Code = "ValueNotSupported"
	ValueContradicted       Code = "ValueContradicted"
	GatewayIncomplete       Code = "GatewayIncomplete"
	GatewayAddressMissing   Code = "GatewayAddressMissing"
	RateLimited             Code = "RateLimited"
	APIServerAddressInvalid Code = "APIServerAddressInvalid"
	ClusterCAMissing        Code = "ClusterCAMissing"
)

func linkerd() Group {
	return Group{Title: "Linkerd", Entries: append(installation(), trust()...)}
}

// installation returns what may be wrong with Linkerd's installation.
func installation() []Entry {
	return []Entry{
		{
			Code:    LinkerdNotInstalled,
			Meaning: "Linkerd, its multicluster extension or one of its Roles is missing.",
			Remedy:  "Install it, or declare where it is in `spec.linkerd`.",
		},
		{
			Code: LinkerdTooOld,
			Meaning: "The cluster runs a Linkerd that is too old for its end of the link. The message names the version and what " +
				"does not work.",
			Remedy: "Upgrade as the message says. Other links go on ([versions](docs/reference/versions.md)).",
		},
		{
			Code:    LinkerdConfigInvalid,
			Meaning: "The ConfigMap `linkerd-config` lacks what a link needs, or linkwright cannot change a value in it. The message says why.",
			Remedy:  "Run `linkerd check` there, and repair the installation of Linkerd.",
		},
		{
			Code:    ValueNotSupported,
			Meaning: "A ProxyConfig declares a value that this release of Linkerd does not know: `linkerd-config` has no default of it.",
			Remedy:  "Upgrade Linkerd there, or declare the value only for clusters that know it.",
		},
		{
			Code:    ValueContradicted,
			Meaning: "A ProxyConfig declares a value that a flag of the running control plane contradicts, or with which Linkerd's injector would reject every pod.",
			Remedy:  "Declare what the message says, or change it with Linkerd's own installation.",
		},
		{
			Code:    GatewayIncomplete,
			Meaning: "The target's gateway has no address, port, identity or probe.",
			Remedy:  "Repair the gateway, or declare `spec.gateway`.",
		},
		{
			Code:    GatewayAddressMissing,
			Meaning: "The target's gateway has no address now. The link keeps the last one.",
			Remedy:  "Repair the gateway, or declare `spec.gateway.addresses`.",
		},
		{
			Code:    RateLimited,
			Meaning: "The target's facts changed again within half a minute. The message says when the link follows.",
			Remedy:  "Nothing. Find out why its gateway changes so often.",
		},
		{
			Code:    APIServerAddressInvalid,
			Meaning: "Other clusters cannot use the API server address that linkwright itself uses.",
			Remedy:  "Declare `spec.apiServer`.",
		},
		{
			Code:    ClusterCAMissing,
			Meaning: "The cluster publishes no CA in the ConfigMap `kube-root-ca.crt`.",
			Remedy:  "Check that its controller manager runs.",
		},
	}
}
