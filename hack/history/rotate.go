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

// rotationVerbs are further verbs for histories with token rotation.
func rotationVerbs() []string {
	return []string{"rotate", "rotate", "rotate", "revoke", "revoke", "revoke"}
}

// rotate requests another token of one declared link, or of all, as the command does: it reads on its own, and writes
// only inventories.
func (r *history) rotate(e Event) {
	p := newProcess(0)
	p.number, p.commit, p.rotates = 1, r.head, true
	for _, c := range r.allClusters(p.commit.fleet) {
		r.read(p, c)
	}
	var links []fleet.Link
	chosen := r.chosen(e)
	for l := range p.commit.fleet.Links() {
		if chosen[l.Pair()] {
			links = append(links, l)
		}
	}
	for _, t := range plan.RequestRotations(r.snapshot(p), links, e.Do == "revoke", plan.Suspend, plan.PrunePolicy) {
		if t.Denied == nil && !t.Requested && r.write(p, t.Change) == nil {
			r.rotated = true
		}
	}
}

// checkRotation returns why a write of that command is not allowed.
func checkRotation(c object.Change, was *simObject) string {
	if c.Action != object.Update || !isInventory(c.Key) || c.Key == baseKey() || was == nil || was.madeBy != byLinkwright {
		return "asking for a token writes an inventory of ours, and nothing else"
	}
	return ""
}

// numbered matches names of tokens after the first: the account, and a number.
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
func (t *simObject) uses(token string) bool {
	var s struct{ Data map[string][]byte }
	must(json.Unmarshal(t.body.Bytes(), &s))
	config := s.Data["kubeconfig"]
	return bytes.Contains(config, []byte(token)) || bytes.Contains(config, []byte(base64.StdEncoding.EncodeToString([]byte(token))))
}

// checkTokenInUse returns why a token must not be deleted: a declared link uses it, or its source cannot be read.
func (r *history) checkTokenInUse(p *process, c object.Change, was *simObject) string {
	link := c.End.Link
	l, declared := p.commit.of(link)
	source := r.clusters[r.currentName(link.Source)]
	if _, _, ok := tokenOf(c.Key); !ok || !declared || source == nil || was.token == "" {
		return ""
	}
	if !p.states[link.Source].Known() {
		return "(b) its source cannot be seen, which may use it"
	}
	for _, k := range sourceKeys(source.mc, link.Target, l) {
		if t := source.objects[k]; k.Kind == "Secret" && t != nil && t.madeBy == byLinkwright && t.uses(was.token) {
			return "(b) " + k.String() + " of " + string(link.Source) + " uses it"
		}
	}
	return ""
}

// hasReadTokens reports whether the credentials of a source were read, if a link of it gets another token.
func (r *history) hasReadTokens(p *process, c fleet.Cluster) bool {
	side := p.states[c.Name]
	watches, err := plan.Watches(r.snapshot(p), c, r.renderer, side.Live)
	return err != nil || !side.Known() || reflect.DeepEqual(watches, side.Watches)
}

// withoutTokenNumbers leaves out what differs because tokens were rotated: of Secrets only the keys are compared.
func withoutTokenNumbers(lines []string) []string {
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

// checkTokens checks that a declared link uses the newest token of its target, and that no token is issued again after a rotation
// ended it.
func (r *history) checkTokens() {
	for name, target := range r.clusters {
		if target.reissued {
			r.addBroken("(b) %s: a token that a rotation ended was issued again", name)
		}
		for source := range r.head.clusters {
			link := api.Pair{Source: source, Target: name}
			if l, ok := r.head.of(link); ok {
				r.checkUsesNewest(link, l, target.newest(source))
			}
		}
	}
}

func (r *history) checkUsesNewest(link api.Pair, l declaredLink, newest *simObject) {
	source := r.clusters[link.Source]
	for _, k := range sourceKeys(source.mc, link.Target, l) {
		if t := source.objects[k]; k.Kind == "Secret" && t != nil && t.madeBy == byLinkwright && (newest == nil || !t.uses(newest.token)) {
			r.addBroken("(c) at rest %s of %s does not use the newest token%s", k, link.Source, r.unreadyRows())
		}
	}
}

// newest is the newest token of a source, or nil.
func (p *simCluster) newest(source api.ClusterName) (newest *simObject) {
	last := 0
	for _, t := range p.of(kind{"", "Secret"}) {
		if a, n, ok := tokenOf(t.key); ok && a == account(source) && t.madeBy == byLinkwright && n > last {
			newest, last = t, n
		}
	}
	return newest
}

// noteEndedToken records the token that a write for a declared link deleted.
func (p *simCluster) noteEndedToken(c object.Change, was *simObject) {
	if c.Action == object.Delete && isToken(c.Key) && was != nil && was.account != "" {
		p.endedTokens[c.Key] = was.account
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
