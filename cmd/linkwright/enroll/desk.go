package enroll

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/access"
	"github.com/linkwright/linkwright/sync/cluster"
)

// desk is where access Secrets are kept: linkwright's namespace of the management cluster.
type desk struct {
	home   *access.Home
	office office
	owner  string
	entry  api.SecretKey
	was    access.Kept // the Secret; zero: there is none
}

func (e *enrollment) openDesk(ctx context.Context, entry api.SecretKey) (*desk, error) {
	cfg, err := e.f.Home.OpenHome()
	if err != nil {
		return nil, err
	}
	o, err := openOffice(cfg)
	if err != nil {
		return nil, err
	}
	h, err := e.f.Home.OpenManagement(ctx)
	return &desk{home: h, office: o, owner: e.f.Home.Owner, entry: entry}, err
}

// vacant says why the cluster cannot be added: its Secret is somebody else's, or linkwright knows it by another name.
func (d *desk) vacant(ctx context.Context, e *enrollment, uid string) error {
	key := inventory.RecordKey(d.owner, d.home.Namespace)
	now, err := d.home.Ask(ctx, key, "")
	if err != nil && !errors.Is(err, access.ErrNotFound) {
		return err
	}
	record, err := inventory.ReadRecord(key, object.NewObservation(nil, object.Layer{Kind: key.Kind, Items: itemsOf(key, now)}))
	if err != nil {
		return err
	}
	for name, known := range record.Clusters {
		if name != e.name && known.UID == uid {
			return fmt.Errorf("this cluster is already known as %s (its kube-system has uid %s): use that name", name, uid)
		}
	}
	if known, ok := record.Clusters[e.name]; ok && known.UID != "" && known.UID != uid {
		cli.Say(e.notes, fmt.Sprintf("warning: %s was another cluster before (uid %s): linkwright writes nothing there until you accept that: %s",
			e.name, known.UID, object.Installation{Owner: d.owner, Namespace: d.home.Namespace}.Command(fmt.Sprintf("accept cluster %s=%s", e.name, uid))))
	}
	secret := d.home.Key("Secret", d.entry.Name)
	if d.was, err = d.home.Ask(ctx, secret, ""); err != nil && !errors.Is(err, access.ErrNotFound) {
		return err
	}
	if r := d.was.Record; !r.IsZero() && r.Mark != object.Ours && !e.force {
		return fmt.Errorf("%s in the management cluster was not made by this command: give another --secret, delete it, or overwrite it with --force", secret)
	}
	if other := d.leadsTo(); other != "" && other != uid && !e.force {
		return fmt.Errorf("%s in the management cluster leads to another cluster (its kube-system has uid %s): give another --secret, or overwrite it with --force", secret, other)
	}
	return nil
}

// leadsTo is the uid of the cluster that the Secret was made for; empty: it says none.
func (d *desk) leadsTo() string {
	var s corev1.Secret
	_ = json.Unmarshal(d.was.Body.Bytes(), &s) // what is no Secret says none
	return s.Annotations[access.WhoseAnnotation]
}

func itemsOf(key object.Key, k access.Kept) []object.Item {
	if k.Record.IsZero() {
		return nil
	}
	return []object.Item{{Namespace: key.Namespace, Name: key.Name, Record: k.Record, Body: k.Body}}
}

// hand puts a token that was tried into the Secret; one that is there and good stays.
func (d *desk) hand(ctx context.Context, e *enrollment, there newcomer, uid string) error {
	if own, ok := access.OwnAccess(d.was, d.entry.Key); ok && own.At.Same(there.at) && own.Account == e.account && own.UID == uid && !own.Due(time.Now()) {
		if raw, err := there.here.Kubeconfig(e.name, own.Token); err == nil && try(ctx, raw, uid) == nil {
			cli.Say(e.notes, fmt.Sprintf("the management cluster: Secret %s/%s holds a token that is good until %s", d.home.Namespace, d.entry.Name, own.Expires.UTC().Format(time.RFC3339)))
			return nil
		}
	}
	token, err := there.token(ctx, e.grantee, e.ttl)
	if err != nil {
		return err
	}
	if err := e.tried(ctx, there, token, uid); err != nil {
		return err
	}
	own := access.Own{Name: e.name, Account: e.account, UID: uid, At: there.at, Token: token}
	if err := d.home.HandOver(ctx, d.owner, d.entry, own, d.was.Record); err != nil {
		return err
	}
	_, until, _ := cluster.Lifetime(token)
	cli.Say(e.notes, fmt.Sprintf("the management cluster: Secret %s/%s written, with a token that is good until %s and renewed before", d.home.Namespace, d.entry.Name, until.UTC().Format(time.RFC3339)))
	return nil
}

// tried reads the cluster by the token: by the operator's address; the one that linkwright is to use may not be reached from here.
func (e *enrollment) tried(ctx context.Context, there newcomer, token object.Secret, uid string) error {
	raw, err := there.here.Kubeconfig(e.name, token)
	if err != nil {
		return err
	}
	if err := try(ctx, raw, uid); err != nil {
		return err
	}
	if there.at.Local() {
		cli.Say(e.notes, fmt.Sprintf("warning: %s is an address of this machine: if linkwright runs elsewhere, give --api-server; other clusters use apiServer of the declaration", there.at.Server))
	}
	if there.at.Same(there.here) {
		return nil
	}
	if raw, err = there.at.Kubeconfig(e.name, token); err != nil {
		return err
	}
	if err := try(ctx, raw, uid); err != nil {
		cli.Say(e.notes, fmt.Sprintf("warning: %v; ignore this only if linkwright can reach %s from where it runs", err, there.at.Server))
	}
	return nil
}
