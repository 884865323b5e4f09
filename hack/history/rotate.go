package history

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
)

// rotations are what people do besides, in histories of their own: links get other tokens, and former ones end.
func rotations() []string {
	return []string{"rotate", "rotate", "rotate", "revoke", "revoke", "revoke"}
}

// turns asks for another token of one declared link, or of all of them, as the command does: by a look of its own, and by what it
// writes into inventories alone.
func (r *run) turns(e Event) {
	p := newProcess(0)
	p.pass, p.commit, p.asks = 1, r.head, true
	for _, c := range r.clusters(p.commit.fleet) {
		r.read(p, c)
	}
	var links []fleet.Link
	chosen := r.chosen(e)
	for l := range p.commit.fleet.Links() {
		if chosen[l.Pair()] {
			links = append(links, l)
		}
	}
	for _, t := range plan.Turns(r.world(p), links, e.Do == "revoke", plan.Suspend, plan.PrunePolicy) {
		if t.Refused == nil && !t.Already && r.write(p, t.Change) == nil {
			r.rotated = true
		}
	}
}

// asked holds a write of that command to what it may do.
func asked(c object.Change, was *thing) string {
	if c.Action != object.Update || !isInventory(c.Key) || c.Key == baseKey() || was == nil || was.by != ours {
		return "asking for a token writes an inventory of ours, and nothing else"
	}
	return ""
}

// numbered is how tokens are called after the first: the account, and how many there were.
var numbered = regexp.MustCompile(`-token\.(\d+)$`)

// tokenOf returns the account that a Secret of a token is of, and which of its tokens that is.
func tokenOf(k object.Key) (account object.Key, n int, ok bool) {
	if k.Kind != "Secret" || k.Namespace != object.AccessNamespace || !strings.HasPrefix(k.Name, owner+".") {
		return object.Key{}, 0, false
	}
	name, n := strings.TrimSuffix(k.Name, "-token"), 1
	if m := numbered.FindStringSubmatch(k.Name); m != nil {
		var err error
		n, err = strconv.Atoi(m[1])
		must(err)
		name = strings.TrimSuffix(k.Name, m[0])
	}
	return object.Key{Kind: "ServiceAccount", Namespace: k.Namespace, Name: name}, n, name != k.Name
}

// uses reports whether a Secret of a source holds a token.
func (t *thing) uses(token string) bool {
	var s struct{ Data map[string][]byte }
	must(json.Unmarshal(t.body.Bytes(), &s))
	config := s.Data["kubeconfig"]
	return bytes.Contains(config, []byte(token)) || bytes.Contains(config, []byte(base64.StdEncoding.EncodeToString([]byte(token))))
}

// interrupts: a token that a declared link uses never goes, in whichever order the ends are written, nor while its source cannot be seen.
func (r *run) interrupts(p *process, c object.Change, was *thing) string {
	link := c.End.Link
	l, declared := p.commit.of(link)
	source := r.planes[r.called(link.Source)]
	if _, _, ok := tokenOf(c.Key); !ok || !declared || source == nil || was.token == "" {
		return ""
	}
	if !p.sides[link.Source].Known() {
		return "(b) its source cannot be seen, which may use it"
	}
	for _, k := range sourceKeys(source.mc, link.Target, l) {
		if t := source.things[k]; k.Kind == "Secret" && t != nil && t.by == ours && t.uses(was.token) {
			return "(b) " + k.String() + " of " + string(link.Source) + " uses it"
		}
	}
	return ""
}

// sees reports whether a cluster was looked at as deeply as what others show asks for: where a link gets another token, what its source holds.
func (r *run) sees(p *process, c fleet.Cluster) bool {
	side := p.sides[c.Name]
	watches, err := plan.Watches(r.world(p), c, r.renderer, side.Seen)
	return err != nil || !side.Known() || reflect.DeepEqual(watches, side.Looked)
}

// plain leaves out in what tokens differ from those of clusters where nothing happened: of what holds them the keys alone compare.
func plain(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		key, _, _ := strings.Cut(line, " ")
		out[i] = line
		if key == "Secret" || key == "ConfigMap" || strings.HasPrefix(key, "Link.") {
			out[i] = numbered.ReplaceAllString(line[:strings.LastIndex(line, " ")], "-token")
		}
	}
	return out
}

// current: where nothing stands in the way, a declared link uses the newest token that its target has, and none comes again that a
// rotation ended.
func (r *run) current() {
	for name, target := range r.planes {
		if target.again {
			r.breaks("(b) %s: a token that a rotation ended was issued again", name)
		}
		for source := range r.head.clusters {
			link := api.Pair{Source: source, Target: name}
			if l, ok := r.head.of(link); ok {
				r.takes(link, l, target.newest(source))
			}
		}
	}
}

func (r *run) takes(link api.Pair, l link, newest *thing) {
	source := r.planes[link.Source]
	for _, k := range sourceKeys(source.mc, link.Target, l) {
		if t := source.things[k]; k.Kind == "Secret" && t != nil && t.by == ours && (newest == nil || !t.uses(newest.token)) {
			r.breaks("(c) at rest %s of %s does not use the newest token%s", k, link.Source, r.rows())
		}
	}
}

// newest is the last token of ours that a source has, or nil.
func (p *plane) newest(source api.ClusterName) (newest *thing) {
	last := 0
	for _, t := range p.of(kind{"", "Secret"}) {
		if a, n, ok := tokenOf(t.key); ok && a == account(source) && t.by == ours && n > last {
			newest, last = t, n
		}
	}
	return newest
}

// ends notes which token a write for a declared link took away.
func (p *plane) ends(c object.Change, was *thing) {
	if c.Action == object.Delete && isToken(c.Key) && was != nil && was.account != "" {
		p.ended[c.Key] = was.account
	}
}

func isToken(k object.Key) bool {
	_, _, ok := tokenOf(k)
	return ok
}

// isTokenOf reports whether a Secret is of a source's token.
func isTokenOf(k object.Key, source api.ClusterName) bool {
	a, _, ok := tokenOf(k)
	return ok && a == account(source)
}
