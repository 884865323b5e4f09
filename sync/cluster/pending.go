package cluster

import (
	"context"
	"encoding/json"

	"github.com/linkwright/linkwright/object"
)

// known does a change so that feeds know it for ours.
func (c *Client) known(ctx context.Context, ch object.Change) (object.Record, error) {
	c.feeds.underway(ch.Key)
	now, err := c.writer.write(ctx, ch)
	c.breaker.record(ctx, err)
	c.feeds.wrote(ch, now, err)
	return now, err
}

// underway: what moves of an object from now on may be what is written.
func (l *feeds) underway(key object.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes.under[key]++
}

// written counts the writes that ended.
func (l *feeds) written() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes.ended
}

// wrote notes for every feed what it has yet to show, and tells what moved meanwhile by others.
func (l *feeds) wrote(ch object.Change, now object.Record, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes.ended++
	if l.writes.under[ch.Key]--; l.writes.under[ch.Key] <= 0 {
		delete(l.writes.under, ch.Key)
	}
	_, foreign := l.writes.moving[ch.Key]
	delete(l.writes.moving, ch.Key)
	d := pendingWrite{number: l.writes.ended, version: now.ResourceVersion}
	if ch.Action == object.Delete {
		d.version, d.uid = ch.Was.ResourceVersion, ch.Was.UID
	}
	if err == nil && ch.Action != object.None && d.version != "" {
		foreign = l.addPending(ch, d) && foreign
	}
	if foreign {
		l.moves.add(ch.Key)
	}
}

// addPending has the feeds that are about an object show a write; another says that one shows something else already.
func (l *feeds) addPending(ch object.Change, d pendingWrite) (another bool) {
	for _, f := range l.open {
		if f.condition == hidden || !f.selects(ch.Key, ch.Object.Body) {
			continue
		}
		if f.condition == absent {
			f.condition, l.seen = trying, nil
		}
		if f.condition == trying || f.condition == polled {
			notify(f.again)
		}
		_, it := f.find(ch.Key.Namespace, ch.Key.Name)
		another = another || !d.fits(it, f.at)
		if f.condition == polled || !f.caughtUp(ch.Key, d) {
			f.pending[ch.Key] = d
		}
	}
	return another
}

// fits reports whether what a feed shows is the outcome of a write, or what was before it.
func (d pendingWrite) fits(it *object.Item, at string) bool {
	switch {
	case it == nil:
		return d.uid != "" || !reaches(at, d.version)
	case d.uid != "":
		return it.Record.UID == d.uid
	}
	return reaches(d.version, it.Record.ResourceVersion)
}

// labelsOf reads them out of the JSON of an object; of the rest nothing is decoded.
func labelsOf(body object.Body) (labels map[string]string) {
	raw := valueOf(valueOf(body.Bytes(), "metadata"), "labels")
	if raw == nil || json.Unmarshal(raw, &labels) != nil {
		return nil
	}
	return labels
}

// valueOf returns that of a member of a JSON object; nil: it has none.
func valueOf(raw []byte, name string) []byte {
	p, ok := object.Member(raw, name)
	if !ok || p.To == 0 {
		return nil
	}
	return raw[p.From:p.To]
}
