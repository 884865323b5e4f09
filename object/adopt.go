package object

import (
	"encoding/json"
	"unique"
)

// AdoptedDigest is the digest annotation of an object that was adopted and not applied yet. No hash of an object is as small.
const AdoptedDigest uint64 = 1

// AdoptPatch is the JSON merge patch (RFC 7396) of an adoption: linkwright's marks and more annotations. Its digest is
// AdoptedDigest, also in place of that of another installation, so that the next plan applies the object as declared. It changes no
// pod template, so no pods are rolled.
func AdoptPatch(owner string, more map[string]string) Body {
	var p struct {
		Metadata struct {
			Labels      map[string]string  `json:"labels"`
			Annotations map[string]*string `json:"annotations"`
		} `json:"metadata"`
	}
	p.Metadata.Labels = map[string]string{OwnerLabel: owner, backupLabel: "true"}
	digest := FormatDigest(AdoptedDigest)
	p.Metadata.Annotations = map[string]*string{DigestAnnotation: &digest}
	for name, value := range more {
		p.Metadata.Annotations[name] = &value
	}
	text, err := json.Marshal(p)
	if err != nil {
		return Body{} // strings encode
	}
	return NewBody(text)
}

// Adopted is the record after an adoption, for simulation: linkwright's, and not applied yet.
func Adopted(r Record) Record {
	return Record{
		UID: r.UID, ResourceVersion: r.ResourceVersion + "+", Digest: AdoptedDigest, Fields: unique.Make(""), Mark: Ours,
		PruneDisabled: r.PruneDisabled, Terminating: r.Terminating, ForeignManagers: r.ForeignManagers, Health: r.Health,
	}
}
