package object

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	metaac "k8s.io/client-go/applyconfigurations/meta/v1"
)

// draft is an object's canonical JSON with room for its own digest: json[from:to] is the digest's annotation.
type draft struct {
	json     Members
	from, to int
}

const noDigest = "0000000000000000"

// metadata writes all members of metadata, ours among them.
func (d *draft) metadata(m metaac.ObjectMetaApplyConfiguration, owner string) {
	if m.Name != nil {
		d.json.Text("name", *m.Name)
	}
	if m.Namespace != nil {
		d.json.Text("namespace", *m.Namespace)
	}
	d.json.Open("labels")
	d.stringMap(m.Labels, d.json.Text, pair{OwnerLabel, owner}, pair{backupLabel, "true"})
	d.json.Open("annotations")
	d.stringMap(m.Annotations, d.annotation, pair{DigestAnnotation, noDigest})
}

type pair struct{ name, value string }

// stringMap writes the members of a map in order, with linkwright's own members, which override others.
func (d *draft) stringMap(m map[string]string, write func(name, value string), own ...pair) {
	var buffer [16]pair
	all := append(buffer[:0], own...)
	for k, v := range m {
		if !slices.ContainsFunc(own, func(p pair) bool { return p.name == k }) {
			all = append(all, pair{k, v})
		}
	}
	slices.SortFunc(all, func(a, b pair) int { return strings.Compare(a.name, b.name) })
	for _, p := range all {
		write(p.name, p.value)
	}
	d.json.Close()
}

// annotation writes an annotation, and keeps the position of the digest's.
func (d *draft) annotation(name, value string) {
	from := len(d.json)
	d.json.Text(name, value)
	if name == DigestAnnotation {
		d.from, d.to = from, len(d.json)
	}
}

// tree writes the rest of a map in the order of its keys, and the digest where the path ends.
func (d *draft) tree(m map[string]any, path ...string) error {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		child, isMap := m[k].(map[string]any)
		switch {
		case len(path) == 0 && k == DigestAnnotation:
			d.annotation(k, noDigest)
		case len(path) > 0 && k == path[0] && isMap:
			d.json.Open(k)
			if err := d.tree(child, path[1:]...); err != nil {
				return err
			}
		default:
			v, err := json.Marshal(m[k])
			if err != nil {
				return err
			}
			d.json.Raw(k, v)
		}
	}
	d.json.Close()
	return nil
}

// setDigest computes and writes the digest, which covers all but its own annotation, or the map if that has no other. There are
// always labels, so there is always a comma to leave out.
func (d *draft) setDigest() uint64 {
	const member = `"annotations":{`
	from, to := d.from, d.to
	if d.json[from-1] == '{' && d.json[to] == '}' {
		from, to = from-len(member), to+1
	}
	switch {
	case d.json[from] == ',':
	case d.json[from-1] == ',':
		from--
	default:
		to++
	}
	h := sha256.New()
	h.Write(d.json[:from])
	h.Write(d.json[to:])
	var sum [sha256.Size]byte
	digest := binary.BigEndian.Uint64(h.Sum(sum[:0]))
	hex.Encode(d.json[d.to-1-len(noDigest):], sum[:8])
	return digest
}

// sizeOf is an upper bound of the size of encoded metadata.
func sizeOf(m metaac.ObjectMetaApplyConfiguration, owner string) int {
	const punctuation = len(`"":"",`)
	n := len(`"name":"","namespace":"","labels":{},"annotations":{},`) + 4*punctuation +
		len(OwnerLabel+backupLabel+"true"+DigestAnnotation+noDigest) + len(owner)
	for _, of := range []map[string]string{m.Labels, m.Annotations} {
		for k, v := range of {
			n += len(k) + len(v) + punctuation
		}
	}
	for _, s := range []*string{m.Name, m.Namespace} {
		if s != nil {
			n += len(*s)
		}
	}
	return n
}

// appendString writes a string as encoding/json does: what it would escape, it is asked for.
func appendString(to []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			escaped, _ := json.Marshal(s) //nolint:errchkjson // a string encodes
			return append(to, escaped...)
		}
	}
	return append(append(append(to, '"'), s...), '"')
}

// FormatDigest writes a digest as the annotation holds it: 16 hex digits.
func FormatDigest(d uint64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], d)
	return hex.EncodeToString(b[:])
}

// parseDigest gives 0 for what is no digest: it then differs from every wanted one.
func parseDigest(s string) uint64 {
	if len(s) != 16 {
		return 0
	}
	d, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		return 0
	}
	return d
}
