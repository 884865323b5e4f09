package history

import (
	"errors"
	"fmt"
	"strings"

	"github.com/linkwright/linkwright/api"
)

// Event is one thing that happens: a commit, an act of somebody else, something that befalls a cluster, or a part of a pass,
// perhaps with a fault. What it picks it picks by number among what there is, so that a script from which events were taken
// away is still one.
type Event struct {
	Do     string
	At, To api.ClusterName
	N, M   int

	Fault string // of what writes
	K     int
	Seed  uint64
	Then  *Event // of a race or a stall: what others do meanwhile
}

// String is the event as a line of a script.
func (e Event) String() string {
	name := func(n api.ClusterName) api.ClusterName {
		if n == "" {
			return "-"
		}
		return n
	}
	out := fmt.Sprintf("%s %s %s %d %d", e.Do, name(e.At), name(e.To), e.N, e.M)
	if e.Fault != "" {
		out += fmt.Sprintf(" %s %d %d", e.Fault, e.K, e.Seed)
	}
	if e.Then != nil {
		out += " " + e.Then.String()
	}
	return out
}

// Script is a history as it can be written down and played again.
func Script(events []Event) string {
	lines := make([]string, len(events))
	for i, e := range events {
		lines[i] = e.String()
	}
	return strings.Join(lines, "\n") + "\n"
}

// Parse reads a script; empty lines and those that begin with # say nothing.
func Parse(script string) ([]Event, error) {
	var out []Event
	for i, line := range strings.Split(script, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		e, rest, err := parse(strings.Fields(line))
		if err != nil || len(rest) > 0 {
			return nil, fmt.Errorf("parse line %d: %q: %w", i+1, line, errors.Join(err, errScript))
		}
		out = append(out, e)
	}
	return out, nil
}

var errScript = errors.New("want: verb cluster cluster number number [fault number seed [event]]")

func parse(words []string) (Event, []string, error) {
	e := Event{}
	if len(words) < 5 {
		return e, words, errScript
	}
	e.Do, e.At, e.To = words[0], api.ClusterName(strings.Trim(words[1], "-")), api.ClusterName(strings.Trim(words[2], "-"))
	if _, err := fmt.Sscan(words[3]+" "+words[4], &e.N, &e.M); err != nil || len(words) == 5 {
		return e, nil, err
	}
	if len(words) < 8 {
		return e, words, errScript
	}
	e.Fault = words[5]
	if _, err := fmt.Sscan(words[6]+" "+words[7], &e.K, &e.Seed); err != nil || len(words) == 8 {
		return e, nil, err
	}
	then, rest, err := parse(words[8:])
	e.Then = &then
	return e, rest, err
}
