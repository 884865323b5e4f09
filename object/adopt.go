package object

import (
	"encoding/json"
	"unique"
)

// AdoptPatch is the JSON merge patch (RFC 7396) of an adoption: linkwright's marks and more annotations. It has no digest, and
// removes one of another installation, so that the next plan finds every difference from the declaration. It changes no
// pod template, so no pods are rolled.
func AdoptPatch(owner string, more map[string]string) Body {
	var p struct {
		Metadata struct {
			Labels      map[string]string  `json:"labels"`
			Annotations map[string]*string `json:"annotations"`
		} `json:"metadata"`
	}
	p.Metadata.Labels = map[string]string{OwnerLabel: owner, backupLabel: "true"}
	p.Metadata.Annotations = map[string]*string{DigestAnnotation: nil}
	for name, value := range more {
		p.Metadata.Annotations[name] = &value
	}
	text, err := json.Marshal(p)
	if err != nil {
		return Body{} // strings encode
	}
	return NewBody(text)
}

// Adopted is the record after an adoption, for simulation: linkwright's, without a digest.
func Adopted(r Record) Record {
	return Record{
		UID: r.UID, ResourceVersion: r.ResourceVersion + "+", Fields: unique.Make(""), Mark: Ours,
		PruneDisabled: r.PruneDisabled, Terminating: r.Terminating, ForeignManagers: r.ForeignManagers, Health: r.Health,
	}
}
