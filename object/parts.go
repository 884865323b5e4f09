package object

import "bytes"

// Part is a member of a JSON object as it stands there: its name and value together, and its value alone, by place.
type Part struct {
	Name            string
	Begin, From, To int
}

// Parts gives the members of a JSON object in order, none of them decoded; false: it is none. It is for what is known to be
// JSON: not everything that is none is noticed.
func Parts(json []byte) ([]Part, bool) {
	w := walk{json: json}
	if !w.enter('{') {
		return nil, false
	}
	var parts []Part
	for w.more('}') {
		p := Part{Begin: w.at}
		p.Name = string(w.name())
		value := w.skip()
		p.From, p.To = w.at-len(value), w.at
		parts = append(parts, p)
	}
	return parts, w.ended()
}

// Member gives the first member of that name of a JSON object, as Parts does, and a zero Part where there is none; false: it is
// no object.
func Member(json []byte, name string) (first Part, ok bool) {
	w := walk{json: json}
	if !w.enter('{') {
		return Part{}, false
	}
	for w.more('}') {
		begin := w.at
		found := string(w.name()) == name && first.To == 0
		value := w.skip()
		if found {
			first = Part{Name: name, Begin: begin, From: w.at - len(value), To: w.at}
		}
	}
	return first, w.ended()
}

// Items gives the items of a JSON list in order, as Parts does.
func Items(json []byte) ([][]byte, bool) {
	w := walk{json: json}
	if !w.enter('[') {
		return nil, false
	}
	var items [][]byte
	for w.more(']') {
		items = append(items, w.skip())
	}
	return items, w.ended()
}

// ended says that nothing but white space follows.
func (w *walk) ended() bool { return !w.broken && len(bytes.TrimSpace(w.json[w.at:])) == 0 }
