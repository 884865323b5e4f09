package history

import "slices"

// tries bounds how often a history is played to make it shorter.
const tries = 300

// Shrink leaves out events of a history that breaks a promise for as long as what is left still does: a promise, mostly the
// same one. It gives what is left, and what it breaks.
func (p *Player) Shrink(events []Event) ([]Event, string) {
	quiet := *p
	quiet.Trace = nil
	why, left := quiet.Play(events), tries
	for size := len(events) / 2; size > 0; {
		smaller := false
		for from := 1; from < len(events) && left > 0; { // the first says which clusters there are
			cut := slices.Delete(slices.Clone(events), from, min(from+size, len(events)))
			left--
			if broken := quiet.Play(cut); broken != "" && left > 0 {
				events, why, smaller = cut, broken, true
				continue
			}
			from += size
		}
		if !smaller || size > 1 {
			size /= 2
		}
	}
	return events, why
}
