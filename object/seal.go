package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	metaac "k8s.io/client-go/applyconfigurations/meta/v1"
)

// Spec is what New makes an object of. Meta is the metadata inside Config: it must be the same pointer, nothing else may
// use it, and New takes it over.
type Spec struct {
	Key     Key
	Version string
	Phase   Phase
	Owner   string
	Meta    *metaac.ObjectMetaApplyConfiguration // its name, namespace, labels and annotations, and nothing else
	Config  any                                  // an apply configuration: encodes only what it declares
}

// New marks the object as the owner's and gives its canonical JSON: the bytes encoding/json makes of
// the typed configuration, whose order is that of its fields, with map keys sorted. What every object
// has, its metadata, is written without reflection.
// It fails if the configuration cannot be encoded, or its metadata holds more than it may.
func New(s Spec) (Object, error) {
	const bare = `"metadata":{}`
	meta := *s.Meta
	*s.Meta = metaac.ObjectMetaApplyConfiguration{}
	config, err := encode(s.Config)
	at := bytes.Index(config, []byte(bare)) + len(bare) - 1
	switch {
	case err != nil:
		return Object{}, fmt.Errorf("encode %s: %w", s.Key, err)
	case at < len(bare):
		return Object{}, fmt.Errorf("encode %s: %w", s.Key, errNoMetadata)
	case hasOtherMetadata(meta):
		return Object{}, fmt.Errorf("encode %s: its metadata may have only a name, a namespace, labels and annotations", s.Key)
	}
	d := draft{json: make([]byte, 0, len(config)+sizeOf(meta, s.Owner))}
	d.json = append(d.json, config[:at]...)
	d.metadata(meta, s.Owner)
	d.json = append(d.json, config[at:]...)
	return s.object(d), nil
}

// Encoded is a configuration that is JSON already, as encoding/json would make it of one with empty metadata. It is only
// read, so that several objects may be made of one.
type Encoded []byte

func encode(config any) ([]byte, error) {
	if done, ok := config.(Encoded); ok {
		return done, nil
	}
	return json.Marshal(config)
}

var errNoMetadata = errors.New("it has no metadata")

// hasOtherMetadata reports whether there is more in metadata than anything of ours has.
func hasOtherMetadata(m metaac.ObjectMetaApplyConfiguration) bool {
	return m.GenerateName != nil || m.UID != nil || m.ResourceVersion != nil || m.Generation != nil ||
		m.CreationTimestamp != nil || m.DeletionTimestamp != nil || m.DeletionGracePeriodSeconds != nil ||
		m.OwnerReferences != nil || m.Finalizers != nil
}

// Seal is New for an object whose content is data: the JSON of an object, identity included, as encoding/json decodes
// it (numbers may be json.Number). What of our own marks stands in it is written anew; content itself is not kept, but
// its metadata is changed. Its order is that of sorted keys. Spec's Meta and Config are not used.
func Seal(s Spec, content map[string]any) (Object, error) {
	meta, ok := content["metadata"].(map[string]any)
	if !ok {
		return Object{}, fmt.Errorf("encode %s: %w", s.Key, errNoMetadata)
	}
	labels, annotations := childMap(meta, "labels"), childMap(meta, "annotations")
	labels[OwnerLabel], labels[backupLabel] = s.Owner, "true"
	annotations[DigestAnnotation] = ""
	d := draft{}
	d.json.Open("")
	if err := d.tree(content, "metadata", "annotations"); err != nil {
		return Object{}, fmt.Errorf("encode %s: %w", s.Key, err)
	}
	return s.object(d), nil
}

// childMap is the map of a field, made where it is missing.
func childMap(of map[string]any, field string) map[string]any {
	m, ok := of[field].(map[string]any)
	if !ok {
		m = map[string]any{}
		of[field] = m
	}
	return m
}

func (s Spec) object(d draft) Object {
	digest := d.setDigest()
	return Object{Key: s.Key, Version: s.Version, Body: NewBody(d.json), Digest: digest, Phase: s.Phase}
}
