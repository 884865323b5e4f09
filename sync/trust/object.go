package trust

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	beginPGP = "-----BEGIN PGP SIGNATURE-----"
	beginSSH = "-----BEGIN SSH SIGNATURE-----"
	endPGP   = "-----END PGP SIGNATURE-----"
	endSSH   = "-----END SSH SIGNATURE-----"
)

// signed is an object divided into what was signed and the signature, which is empty if there is none.
type signed struct {
	payload []byte
	armor   string
	at      time.Time // when it was committed or tagged, as the payload says
}

// maxObject bounds what is read, in bytes: a message, and tags that were merged.
const maxObject = 4 << 20

// header is one field of an object: its lines, with those that continue it.
type header struct {
	name string
	raw  []byte
}

// value returns what the field says.
func (h header) value() string {
	text := strings.TrimSuffix(string(h.raw[len(h.name)+1:]), "\n")
	return strings.ReplaceAll(text, "\n ", "\n")
}

// headers divides an object into its fields and the rest, which begins with the empty line.
func headers(raw []byte) ([]header, []byte, error) {
	if len(raw) > maxObject {
		return nil, nil, bad("the object is larger than %d MiB (make it again, with a shorter message)", maxObject>>20)
	}
	var out []header
	for rest := raw; ; {
		if len(rest) > 0 && rest[0] == '\n' {
			return out, rest, nil
		}
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		name, _, ok := strings.Cut(string(line), " ")
		switch {
		case !ended && len(rest) == 0:
			return out, nil, nil // a message is not needed
		case !ended || !ok || bytes.IndexByte(line, 0) >= 0:
			return nil, nil, bad("Git does not write such an object (make it again)")
		case name == "" && len(out) == 0:
			return nil, nil, bad("the object begins in the middle of a field (make it again)")
		case name == "":
			last := &out[len(out)-1]
			last.raw = raw[len(raw)-len(rest)-len(last.raw) : len(raw)-len(after)]
		default:
			out = append(out, header{name, rest[:len(line)+1]})
		}
		rest = after
	}
}

// begins makes sure that an object begins with these fields, each once and in this order; of one with a star there may be
// any number.
func begins(fields []header, names ...string) ([]header, error) {
	rest := fields
	for _, name := range names {
		name, many := strings.CutSuffix(name, "*")
		for many && len(rest) > 0 && rest[0].name == name {
			rest = rest[1:]
		}
		if many {
			continue
		}
		if len(rest) == 0 || rest[0].name != name {
			return nil, bad("the object has no field %q where Git puts it (make it again)", name)
		}
		rest = rest[1:]
	}
	for _, h := range rest {
		if slices.Contains(names, h.name) || slices.Contains(names, h.name+"*") {
			return nil, bad("the object has a second field %q (make it again)", h.name)
		}
	}
	return rest, nil
}

// commitOf takes the signature out of a commit: git puts it into a field behind the committer.
func commitOf(raw []byte) (signed, error) {
	fields, message, err := headers(raw)
	if err != nil {
		return signed{}, err
	}
	rest, err := begins(fields, "tree", "parent*", "author", "committer")
	if err != nil {
		return signed{}, err
	}
	out := signed{payload: make([]byte, 0, len(raw))}
	if out.at, err = moment(fields[len(fields)-len(rest)-1]); err != nil {
		return signed{}, err
	}
	for _, h := range fields[:len(fields)-len(rest)] {
		out.payload = append(out.payload, h.raw...)
	}
	for _, h := range rest {
		switch {
		case h.name == "gpgsig" && out.armor == "":
			out.armor = strings.TrimRight(h.value(), "\n ") + "\n"
		case h.name == "gpgsig":
			return signed{}, bad("there is more than one signature (sign again)")
		case strings.HasPrefix(h.name, "gpgsig"):
			return signed{}, bad("it is in the field %s, of another object format (sign again)", h.name)
		default:
			out.payload = append(out.payload, h.raw...)
		}
	}
	out.payload = append(out.payload, message...)
	return out, whole(out.armor)
}

// tagOf takes the signature out of a tag: git puts it behind the message.
func tagOf(raw []byte, name string) (signed, error) {
	fields, message, err := headers(raw)
	if err != nil {
		return signed{}, err
	}
	rest, err := begins(fields, "object", "type", "tag", "tagger")
	if err != nil {
		return signed{}, err
	}
	kind, own, name := fields[1].value(), fields[2].value(), strings.TrimPrefix(name, "refs/tags/")
	switch {
	case own != name:
		return signed{}, bad("the tag has the name %q, but its ref has the name %q (tag again)", own, name)
	case kind != "commit":
		return signed{}, bad("the tag is of a %s (tag a commit)", kind)
	case slices.ContainsFunc(rest, func(h header) bool { return strings.HasPrefix(h.name, "gpgsig") }):
		return signed{}, bad("it is in the tag's header, of another object format (sign again)")
	}
	out := signed{payload: raw}
	if out.at, err = moment(fields[3]); err != nil {
		return signed{}, err
	}
	from := armored(message)
	if len(from) > 1 {
		return signed{}, bad("there is more than one signature (tag again)")
	}
	if len(from) == 1 {
		at := len(raw) - len(message) + from[0]
		out.payload, out.armor = raw[:at], strings.TrimRight(string(raw[at:]), "\n ")+"\n"
	}
	return out, whole(out.armor)
}

// armored returns the offsets of all lines that begin what Git takes for a signature.
func armored(text []byte) []int {
	kinds := []string{beginPGP, beginSSH, "-----BEGIN PGP MESSAGE-----", "-----BEGIN SIGNED MESSAGE-----"}
	var out []int
	at := 0
	for line := range bytes.Lines(text) {
		if slices.ContainsFunc(kinds, func(kind string) bool { return bytes.HasPrefix(line, []byte(kind)) }) {
			out = append(out, at)
		}
		at += len(line)
	}
	return out
}

// whole makes sure that a text is one signature and nothing beside it. One of another kind is judged by who reads it.
func whole(armor string) error {
	if armor == "" {
		return nil
	}
	begin, body := cutLine(armor)
	end := map[string]string{beginPGP: endPGP, beginSSH: endSSH}[begin]
	if end == "" {
		return nil
	}
	if i := strings.Index(body, "-----"); i < 0 || body[i:] != end+"\n" {
		return bad("it is not one block from %s to %s (sign again)", begin, end)
	}
	return nil
}

// moment reads the end of "committer A <a@example.com> 1700000000 +0100".
func moment(h header) (time.Time, error) {
	text := h.value()
	words := strings.Fields(text[strings.LastIndexByte(text, '>')+1:])
	if len(words) == 2 {
		if seconds, err := strconv.ParseInt(words[0], 10, 64); err == nil {
			return time.Unix(seconds, 0), nil
		}
	}
	return time.Time{}, bad("the object has no date (make it again)")
}

// cutLine returns the first line of a text without what ends it, and the rest.
func cutLine(text string) (line, rest string) {
	line, rest, _ = strings.Cut(text, "\n")
	return strings.TrimRight(line, "\r \t"), rest
}
