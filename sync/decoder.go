package sync

import (
	gosync "sync"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/confine"
	"github.com/linkwright/linkwright/render/linkerd"
)

// confinement keeps, for each account and multicluster namespace, which admission policies confine it: there are few, and many clusters.
type confinement struct {
	mu   gosync.Mutex
	made map[[2]string]confine.Expected // by the account's name at API servers, and the namespace
}

func (c *confinement) expect(a confine.Account, mc string) confine.Expected {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := [2]string{a.User(), mc}
	made, ok := c.made[at]
	if !ok {
		if c.made == nil {
			c.made = map[[2]string]confine.Expected{}
		}
		a.Multicluster = mc
		made = confine.Expect(a)
		c.made[at] = made
	}
	return made
}

// decoder keeps what was decoded of clusters, which are alike.
type decoder struct {
	loop        *Loop
	configs     linkerd.Configs
	confinement confinement
}

// gap says why admission policies do not confine linkwright's account in a cluster that was just read; anyone: it is no ServiceAccount.
func (d *decoder) gap(c api.Cluster, seen object.Observation) (gap string, anyone bool) {
	template := d.loop.Confined
	template.Owner = d.loop.Owner
	account, ok := template.As(seen.User)
	if !ok {
		return "linkwright's login there is no ServiceAccount, and admission policies confine only such", true
	}
	return d.confinement.expect(account, c.Linkerd.MulticlusterNamespace).Gap(seen), false
}
