package sync

// maxLooks is how often a cluster is read by requests in one pass because others must know for certain.
const maxLooks = 20

// look obeys a step that must not decide on what watches show: the clusters it names are read by requests in this pass, and
// then it is planned again.
func (t *term) look(u *turn) {
	t.looked(u)
	l := u.lane
	if len(u.step.Look) == 0 || t.stuck(l) {
		return
	}
	l.awaits = map[*lane]bool{}
	for _, name := range u.step.Look {
		peer := t.lane(name)
		if peer == nil || !t.asks(peer) {
			continue
		}
		if peer != l {
			peer.ready, l.awaits[peer] = true, true
		}
	}
	l.ready = l.ready || l.asked && len(l.awaits) == 0
}

// asks has a lane read its cluster by requests for the rest of the pass; false: it did so often enough.
func (t *term) asks(l *lane) bool {
	if l.asked {
		return true
	}
	if l.looks >= maxLooks {
		return false
	}
	l.asked, l.looked = true, t.number
	l.looks++
	return true
}

// looked makes those ready that waited for a cluster to be read alone.
func (t *term) looked(u *turn) {
	if !u.observes || !u.asked || u.pass != t.number {
		return
	}
	u.lane.asked = false
	for _, l := range t.order {
		if l.awaits[u.lane] {
			delete(l.awaits, u.lane)
			l.ready = l.ready || len(l.awaits) == 0
		}
	}
}
