package object

import "bytes"

// Part is a member of a JSON object: its name, and the offsets of the member (Begin to To) and of its value (From to To).
type Part struct {
	Name            string
	Begin, From, To int
}

// Parts returns the members of a JSON object in order, not decoded; false: it is no object. It does not notice all
// invalid JSON.
func Parts(json []byte) ([]Part, bool) {
	w := scanner{json: json}
	if !w.enter('{') {
		return nil, false
	}
	var parts []Part
	for w.more('}') {
		p := Part{Begin: w.at}
		p.Name = string(w.memberName())
		value := w.skip()
		p.From, p.To = w.at-len(value), w.at
		parts = append(parts, p)
	}
	return parts, w.atEnd()
}

// Member returns the first member of that name of a JSON object, as Parts does, or a zero Part; false: it is
// no object.
func Member(json []byte, name string) (first Part, ok bool) {
	w := scanner{json: json}
	if !w.enter('{') {
		return Part{}, false
	}
	for w.more('}') {
		begin := w.at
		found := string(w.memberName()) == name && first.To == 0
		value := w.skip()
		if found {
			first = Part{Name: name, Begin: begin, From: w.at - len(value), To: w.at}
		}
	}
	return first, w.atEnd()
}

// Items returns the items of a JSON list in order, not decoded.
func Items(json []byte) ([][]byte, bool) {
	w := scanner{json: json}
	if !w.enter('[') {
		return nil, false
	}
	var items [][]byte
	for w.more(']') {
		items = append(items, w.skip())
	}
	return items, w.atEnd()
}

// atEnd reports whether nothing but white space follows.
func (w *scanner) atEnd() bool { return !w.invalid && len(bytes.TrimSpace(w.json[w.at:])) == 0 }
