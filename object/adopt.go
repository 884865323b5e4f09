package object

import (
	"encoding/json"
	"unique"
)

// AdoptPatch is what an adoption writes, a JSON merge patch (RFC 7396): our marks without a digest, so that the next plan finds
// every difference from what is declared, and more, which are annotations. A digest of another installation goes. Nothing of it
// is in a pod template: nothing is rolled.
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

// Adopted is the record that an adoption leaves, for simulating: ours, and without anything that says how it should be.
func Adopted(r Record) Record {
	return Record{
		UID: r.UID, ResourceVersion: r.ResourceVersion + "+", Fields: unique.Make(""), Mark: Ours,
		Keep: r.Keep, Going: r.Going, Rivals: r.Rivals, Health: r.Health,
	}
}
