package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	metaac "k8s.io/client-go/applyconfigurations/meta/v1"
)

// Spec is what New makes an object from. Meta is the metadata inside Config: it must be the same pointer, nothing else may
// use it, and New changes it.
type Spec struct {
	Key     Key
	Version string
	Phase   Phase
	Owner   string
	Meta    *metaac.ObjectMetaApplyConfiguration // its name, namespace, labels and annotations, and nothing else
	Config  any                                  // an apply configuration: encodes only what it declares
}

// New adds the owner's marks and encodes the object: the bytes that encoding/json makes of
// the typed configuration, in the order of its fields, with map keys sorted. Metadata, which every object
// has, is written without reflection.
// It fails if the configuration cannot be encoded, or its metadata has other fields than allowed.
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

// Encoded is a configuration that is JSON already, as encoding/json would encode it with empty metadata. New only
// reads it, so that several objects can be made from one.
type Encoded []byte

func encode(config any) ([]byte, error) {
	if done, ok := config.(Encoded); ok {
		return done, nil
	}
	return json.Marshal(config)
}

var errNoMetadata = errors.New("it has no metadata")

// hasOtherMetadata reports whether metadata has fields that rendered objects never have.
func hasOtherMetadata(m metaac.ObjectMetaApplyConfiguration) bool {
	return m.GenerateName != nil || m.UID != nil || m.ResourceVersion != nil || m.Generation != nil ||
		m.CreationTimestamp != nil || m.DeletionTimestamp != nil || m.DeletionGracePeriodSeconds != nil ||
		m.OwnerReferences != nil || m.Finalizers != nil
}

// Seal is New for content in maps: an object as encoding/json decodes it (numbers may be json.Number), with its
// identity. It writes linkwright's marks again, and changes the metadata of content, which it does not keep. Keys are
// sorted. It does not use Spec's Meta and Config.
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

// childMap is the map of a field, which is created if it is missing.
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
