package reason

// Codes of trust anchors, and of what needs one.
const (
	TrustAnchorsNotShared Code = "TrustAnchorsNotShared"
	TrustAnchorExpiring   Code = "TrustAnchorExpiring"
	TrustAnchorsDiffer    Code = "TrustAnchorsDiffer"
	TrustAnchorMissing    Code = "TrustAnchorMissing"
	LastTrustAnchor       Code = "LastTrustAnchor"
	IssuerUsesAnchor      Code = "IssuerUsesAnchor"
	IssuerUnknown         Code = "IssuerUnknown"
	IssuerExpired         Code = "IssuerExpired"
	FormerIssuer          Code = "FormerIssuer"
	ProxyNeedsAnchor      Code = "ProxyNeedsAnchor"
	ProxyAnchorsUnknown   Code = "ProxyAnchorsUnknown"
)

// trust returns what may be wrong with trust anchors.
func trust() []Entry {
	return append([]Entry{
		{
			Code:    TrustAnchorsNotShared,
			Meaning: "Source and target have no valid trust anchor in common. The message names fingerprints and last days.",
			Remedy: "Give each cluster the anchors of both, and restart the proxies ([trust " +
				"anchors](docs/explanation/credentials.md#trust-anchors)).",
		},
		{
			Code:    TrustAnchorExpiring,
			Meaning: "The last trust anchor that both clusters share expires within 60 days.",
			Remedy:  "Rotate the trust anchors ([how](docs/how-to/rotate.md#rotate-the-trust-anchor-of-a-mesh)).",
		},
		{
			Code:    TrustAnchorsDiffer,
			Meaning: "Each of the two clusters has a trust anchor that the other one lacks.",
			Remedy:  "Finish the rotation of the trust anchors ([how](docs/how-to/rotate.md#rotate-the-trust-anchor-of-a-mesh)).",
		},
	}, needs()...)
}

// needs returns why a trust anchor may not be removed.
func needs() []Entry {
	return []Entry{
		{
			Code:    TrustAnchorMissing,
			Meaning: "`trust status`: the bundle of a cluster lacks the trust anchor that signs the issuer of a cluster.",
			Remedy:  "Add it to the ConfigMap `linkerd-identity-trust-roots`, and restart the proxies there.",
		},
		{
			Code:    LastTrustAnchor,
			Meaning: "`trust status`: the bundle of a cluster has no other trust anchor, so its proxies would trust nobody.",
			Remedy:  "Add the new trust anchor to the bundle of each cluster, and restart the proxies.",
		},
		{
			Code:    IssuerUsesAnchor,
			Meaning: "`trust status`: no other trust anchor signs the issuer of a cluster.",
			Remedy:  "Replace the issuer's certificate in the Secret `linkerd-identity-issuer` by one that another trust anchor signs.",
		},
		{
			Code:    IssuerUnknown,
			Meaning: "`trust status`: nothing shows which trust anchor signs the issuer of a cluster, so any may be needed.",
			Remedy:  "See the message. With a CA outside of the cluster, find out yourself which trust anchor signs the issuer.",
		},
		{
			Code:    IssuerExpired,
			Meaning: "`trust status`: the certificate of a cluster's issuer expired, or the other trust anchor that signs it did.",
			Remedy:  "Replace the issuer's certificate by one that a valid trust anchor signs.",
		},
		{
			Code:    FormerIssuer,
			Meaning: "`trust status`: certificates that a former issuer made may still be valid, and nothing shows which trust anchor signed it.",
			Remedy: "Wait until the time in the message, or give `--issuers-since` " +
				"([how](docs/how-to/rotate.md#issuers-that-are-renewed-every-day)).",
		},
		{
			Code:    ProxyNeedsAnchor,
			Meaning: "`trust status`: without the trust anchor, proxies of a workload would not trust those of a cluster.",
			Remedy:  "Restart the workload, once the bundle of its cluster has the new trust anchor.",
		},
		{
			Code:    ProxyAnchorsUnknown,
			Meaning: "`trust status`: nothing shows which trust anchors proxies of a workload know.",
			Remedy:  "Restart the workload, at least 2 minutes after the last change of the bundle.",
		},
	}
}
