package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	coreac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/cluster"
)

// Annotations of an access Secret that `cluster add` made.
const (
	renewAnnotation = object.Prefix + "renew"       // NAMESPACE/NAME of the account whose token it holds
	whoseAnnotation = object.Prefix + "cluster-uid" // of kube-system, of the cluster it leads to
)

// desk is where access Secrets are kept: linkwright's namespace of the home cluster.
type desk struct {
	home   *home
	office office
	owner  string
	entry  api.SecretKey
	was    kept // the Secret; zero: there is none
}

func (e *enrollment) openDesk(ctx context.Context, entry api.SecretKey) (*desk, error) {
	cfg, err := e.f.home.openHome()
	if err != nil {
		return nil, err
	}
	o, err := openOffice(cfg)
	if err != nil {
		return nil, err
	}
	h, err := newHome(ctx, cfg, cluster.Options{Owner: e.f.home.owner, Timeout: e.f.home.timeout}, e.f.home.namespace)
	return &desk{home: h, office: o, owner: e.f.home.owner, entry: entry}, err
}

// vacant says why the cluster cannot be added: its Secret is somebody else's, or linkwright knows it by another name.
func (d *desk) vacant(ctx context.Context, e *enrollment, uid string) error {
	key := inventory.RecordKey(d.owner, d.home.namespace)
	now, err := d.home.ask(ctx, key, "")
	if err != nil && !errors.Is(err, errNoSecret) {
		return err
	}
	record, err := inventory.ReadRecord(key, object.NewObservation(nil, object.Layer{Kind: key.Kind, Items: itemsOf(key, now)}))
	if err != nil {
		return err
	}
	for name, known := range record.Clusters {
		if name != e.name && known.UID == uid {
			return fmt.Errorf("this cluster is known as %s (its kube-system has uid %s): one cluster under two names is refused", name, uid)
		}
	}
	if known, ok := record.Clusters[e.name]; ok && known.UID != "" && known.UID != uid {
		say(e.notes, fmt.Sprintf("warning: %s was another cluster before (uid %s): linkwright writes nothing there until you accept that: %s",
			e.name, known.UID, object.Installation{Owner: d.owner, Namespace: d.home.namespace}.Command(fmt.Sprintf("accept cluster %s=%s", e.name, uid))))
	}
	secret := d.home.key("Secret", d.entry.Name)
	if d.was, err = d.home.ask(ctx, secret, ""); err != nil && !errors.Is(err, errNoSecret) {
		return err
	}
	if r := d.was.record; !r.IsZero() && r.Mark != object.Ours && !e.force {
		return fmt.Errorf("%s in the home cluster was not made by this command: give another --secret, delete it, or overwrite it by --force", secret)
	}
	if other := d.leadsTo(); other != "" && other != uid && !e.force {
		return fmt.Errorf("%s in the home cluster leads to another cluster (its kube-system has uid %s): give another --secret, or overwrite it by --force", secret, other)
	}
	return nil
}

// leadsTo is the uid of the cluster that the Secret was made for; empty: it says none.
func (d *desk) leadsTo() string {
	var s corev1.Secret
	_ = json.Unmarshal(d.was.body.Bytes(), &s) // what is no Secret says none
	return s.Annotations[whoseAnnotation]
}

func itemsOf(key object.Key, k kept) []object.Item {
	if k.record.IsZero() {
		return nil
	}
	return []object.Item{{Namespace: key.Namespace, Name: key.Name, Record: k.record, Body: k.body}}
}

// hand puts a token that was tried into the Secret; one that is there and good stays.
func (d *desk) hand(ctx context.Context, e *enrollment, there newcomer, uid string) error {
	if own, ok := ownAccess(d.was, d.entry.Key); ok && own.at.same(there.at) && own.account == e.account && own.uid == uid && !own.due(time.Now()) {
		if raw, err := there.here.kubeconfig(e.name, own.token); err == nil && try(ctx, raw, uid) == nil {
			say(e.notes, fmt.Sprintf("the home cluster: Secret %s/%s holds a token that is good until %s", d.home.namespace, d.entry.Name, own.expires.UTC().Format(time.RFC3339)))
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
	own := owned{name: e.name, account: e.account, uid: uid, at: there.at, token: token}
	if err := d.home.handOver(ctx, d.owner, d.entry, own, d.was.record); err != nil {
		return err
	}
	_, until, _ := cluster.Lifetime(token)
	say(e.notes, fmt.Sprintf("the home cluster: Secret %s/%s written, with a token that is good until %s and renewed before", d.home.namespace, d.entry.Name, until.UTC().Format(time.RFC3339)))
	return nil
}

// tried reads the cluster by the token: by the operator's address; the one that linkwright is to use may not be reached from here.
func (e *enrollment) tried(ctx context.Context, there newcomer, token object.Secret, uid string) error {
	raw, err := there.here.kubeconfig(e.name, token)
	if err != nil {
		return err
	}
	if err := try(ctx, raw, uid); err != nil {
		return err
	}
	if there.at.local() {
		say(e.notes, fmt.Sprintf("warning: %s is an address of this machine: if linkwright runs elsewhere, give --api-server; what peers use is apiServer of the declaration", there.at.server))
	}
	if there.at.same(there.here) {
		return nil
	}
	if raw, err = there.at.kubeconfig(e.name, token); err != nil {
		return err
	}
	if err := try(ctx, raw, uid); err != nil {
		say(e.notes, fmt.Sprintf("warning: %v; that is as it should be only if linkwright reaches %s from where it runs", err, there.at.server))
	}
	return nil
}

// owned is an access that `cluster add` made: whose token it is, and what for.
type owned struct {
	name            api.ClusterName
	account, uid    string
	at              location
	token           object.Secret
	issued, expires time.Time
}

// due says that two thirds of the token's life are over.
func (o owned) due(now time.Time) bool {
	return !now.Before(o.issued.Add(o.expires.Sub(o.issued) * 2 / 3))
}

// ownAccess reads an access Secret; false: it is none that `cluster add` made, or its token does not expire.
func ownAccess(k kept, entry string) (owned, bool) {
	if k.record.Mark != object.Ours {
		return owned{}, false
	}
	var s corev1.Secret
	if json.Unmarshal(k.body.Bytes(), &s) != nil || s.Annotations[renewAnnotation] == "" {
		return owned{}, false
	}
	cfg, err := cluster.ParseKubeconfig(s.Data[entry], "", cluster.Trust{})
	if err != nil {
		return owned{}, false
	}
	return ownedIn(cfg, s.Annotations)
}

func ownedIn(cfg *rest.Config, annotations map[string]string) (owned, bool) {
	o := owned{account: annotations[renewAnnotation], uid: annotations[whoseAnnotation], at: locationIn(cfg), token: object.NewSecret([]byte(cfg.BearerToken))}
	var ok bool
	o.issued, o.expires, ok = cluster.Lifetime(o.token)
	return o, ok && o.account != ""
}

// handOver writes an access Secret, if it is still what was read.
func (h *home) handOver(ctx context.Context, owner string, entry api.SecretKey, o owned, was object.Record) error {
	raw, err := o.at.kubeconfig(o.name, o.token)
	if err != nil {
		return err
	}
	key := h.key("Secret", entry.Name)
	secret := coreac.Secret(key.Name, key.Namespace).WithData(map[string][]byte{entry.Key: raw}).
		WithAnnotations(map[string]string{renewAnnotation: o.account, whoseAnnotation: o.uid})
	body, err := object.New(object.Spec{
		Key: key, Version: "v1", Phase: object.PhaseSecrets, Owner: owner, Meta: secret.ObjectMetaApplyConfiguration, Config: secret,
	})
	if err != nil {
		return err
	}
	action := object.Update
	if was.IsZero() {
		action = object.Create
	}
	if _, err := h.Write(ctx, object.Change{Action: action, Key: key, Object: body, Was: was, Fenced: true}); err != nil {
		return fmt.Errorf("write the access: %w", err)
	}
	return nil
}
