package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// sum is a short word for something that is only compared.
type sum = [sha256.Size]byte

// sumOf returns that of a declaration.
func sumOf(c api.Cluster) sum {
	text, err := json.Marshal(c)
	if err != nil {
		return sum{} // a declaration that was loaded from YAML: it encodes
	}
	return sha256.Sum256(text)
}

// clusterDigest is what others depend on in a cluster.
type clusterDigest struct {
	sum    sum
	commit api.Commit // that its base carries: it counts where it is barred
	paused bool       // from inside
	moved  int        // Clusters.moves when others' steps could differ by it last
}

// digestOf sums up what of a side other clusters depend on: facts, its gateways by second names, whether it was read or gives no answer, tokens, what
// inventories hold, and the credentials that it uses, which must not lose their tokens. Which commit and term its base carries
// is none of that, but for the commits that are barred.
//
// Linkerd Links and inventories are decoded once for each version: last is what was decoded of the side before, next of this one.
func digestOf(owner string, s state.Cluster, names []linkerd.Gateway, last decoded) (out clusterDigest, next decoded) {
	var buf bytes.Buffer
	next = make(decoded, len(last))
	facts, err := json.Marshal(s.Facts)
	fmt.Fprintln(&buf, names)
	fmt.Fprintln(&buf, s.Known(), s.Err != nil, state.Silent(s), string(facts), err, s.Facts.Missing, s.Live.Hidden)
	base := inventory.Key(owner, object.End{})
	for k, body := range s.Live.Bodies() {
		switch {
		case !shows(k):
		case k == base:
			out.commit = showBase(&buf, owner, s.Live)
			out.paused = inventory.Paused(owner, s.Live)
			fmt.Fprintln(&buf, out.paused)
		case inventory.Named(owner, k):
			next[k] = last.of(k, body, inventory.ForPeers)
			r := s.Live.Record(k)
			fmt.Fprintln(&buf, k, r.Mark, r.Terminating, next[k].shown)
		case k.Kind == "Link":
			next[k] = last.of(k, body, credentialsOf)
			fmt.Fprintln(&buf, k, next[k].shown)
		default:
			fmt.Fprintln(&buf, k)
			buf.Write(body.Bytes())
		}
	}
	out.sum = sha256.Sum256(buf.Bytes())
	return out, next
}

// byNames returns a cluster's gateways by its second names.
func byNames(f *fleet.Fleet, name api.ClusterName, s state.Cluster) (out []linkerd.Gateway) {
	if f == nil || !s.Known() {
		return nil
	}
	for _, second := range f.Names(name) {
		c, _ := f.Cluster(second)
		out = append(out, s.As(c).Gateway)
	}
	return out
}

// showBase writes what others read of a base, and gives its commit.
func showBase(to *bytes.Buffer, owner string, observed object.Observation) api.Commit {
	inv, _, err := inventory.Base(owner, observed)
	fmt.Fprintln(to, "base", inv.End, inv.Names, inv.Leaving, err)
	for _, k := range inv.Entries {
		fmt.Fprintln(to, k)
	}
	return inv.Commit
}

// shows reports whether other clusters' steps depend on an object, see shownBy.
func shows(k object.Key) bool {
	return k.Namespace == object.AccessNamespace || k.Kind == "Secret" || k.Kind == "Link"
}

// decoded is what objects show to other clusters, by key.
type decoded map[object.Key]decodedObject

type decodedObject struct {
	body  object.Body // of which it was decoded
	shown sum
}

// of decodes an object, unless that was done before.
func (d decoded) of(k object.Key, body object.Body, show func(object.Body) []byte) decodedObject {
	if known, ok := d[k]; ok && known.body.Equal(body) {
		return known
	}
	return decodedObject{body, sha256.Sum256(show(body))}
}

// credentialsOf is what a Linkerd Link tells of credentials.
func credentialsOf(link object.Body) []byte {
	secret, entries := linkerd.CredentialEntries(link)
	return fmt.Appendln(nil, secret, entries)
}
