package enroll

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/access"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/report/output"
)

// secretStore is where access Secrets are kept: linkwright's namespace of the management cluster.
type secretStore struct {
	management *access.ManagementCluster
	admin      admin
	owner      string
	entry      api.SecretKey
	was        access.CachedObject // the Secret; zero: there is none
}

func (e *enrollment) openSecretStore(ctx context.Context, entry api.SecretKey) (*secretStore, error) {
	cfg, err := e.f.Management.Config()
	if err != nil {
		return nil, err
	}
	e.f.Management.Announce(e.notes, nil)
	o, err := openAdmin(cfg, e.f.Management.Timeout)
	if err != nil {
		return nil, err
	}
	h, err := e.f.Management.OpenManagement(ctx)
	return &secretStore{management: h, admin: o, owner: e.f.Management.Owner, entry: entry}, err
}

// checkFree says why the cluster cannot be added: its Secret is somebody else's, or linkwright knows it by another name.
func (s *secretStore) checkFree(ctx context.Context, e *enrollment, uid string) error {
	key := inventory.RecordKey(s.owner, s.management.Namespace)
	now, err := s.management.Ask(ctx, key, "")
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
			e.name, known.UID, object.Installation{Owner: s.owner, Namespace: s.management.Namespace}.Command(fmt.Sprintf("accept cluster %s=%s", e.name, uid))))
	}
	secret := s.management.Key("Secret", s.entry.Name)
	if s.was, err = s.management.Ask(ctx, secret, ""); err != nil && !errors.Is(err, access.ErrNotFound) {
		return err
	}
	if r := s.was.Record; !r.IsZero() && r.Mark != object.Ours && !e.force {
		return fmt.Errorf("%s in the management cluster was not made by this command: give another --secret, delete it, or overwrite it with --force", secret)
	}
	if other := s.clusterUID(); other != "" && other != uid && !e.force {
		return fmt.Errorf("%s in the management cluster leads to another cluster (its kube-system has uid %s): give another --secret, or overwrite it with --force", secret, other)
	}
	return nil
}

// clusterUID is the uid of the cluster that the Secret was made for; empty: it says none.
func (s *secretStore) clusterUID() string {
	var live corev1.Secret
	_ = json.Unmarshal(s.was.Body.Bytes(), &live) // what is no Secret has none
	return live.Annotations[access.WhoseAnnotation]
}

func itemsOf(key object.Key, k access.CachedObject) []object.Item {
	if k.Record.IsZero() {
		return nil
	}
	return []object.Item{{Namespace: key.Namespace, Name: key.Name, Record: k.Record, Body: k.Body}}
}

// writeSecret puts a token that was verified into the Secret; one that is there and good stays.
func (s *secretStore) writeSecret(ctx context.Context, e *enrollment, there newCluster, uid string) error {
	if own, ok := access.ManagedAccessIn(s.was, s.entry.Key); ok && own.At.Same(there.at) && own.Account == e.account && own.UID == uid && !own.Due(time.Now()) {
		works, err := s.works(ctx, e, there, own)
		if err != nil {
			return err
		}
		if works {
			cli.Say(e.notes, fmt.Sprintf("the management cluster: Secret %s/%s holds a token that is good until %s", s.management.Namespace, s.entry.Name, own.Expires.UTC().Format(time.RFC3339)))
			return nil
		}
	}
	if e.f.Writing.Dry() {
		return s.checkSecret(ctx, e, access.ManagedAccess{Name: e.name, Account: e.account, UID: uid, At: there.at})
	}
	token, err := there.token(ctx, e.grantee, e.ttl)
	if err != nil {
		return err
	}
	if err := e.verifyToken(ctx, there, token, uid); err != nil {
		return err
	}
	own := access.ManagedAccess{Name: e.name, Account: e.account, UID: uid, At: there.at, Token: token}
	if err := cli.Interrupted(ctx); err != nil {
		return err
	}
	if err := s.management.HandOver(context.WithoutCancel(ctx), access.Handover{Owner: s.owner, Entry: s.entry, ManagedAccess: own, Was: s.was.Record}); err != nil {
		return err
	}
	s.wrote(e)
	_, until, _ := cluster.Lifetime(token)
	cli.Say(e.notes, fmt.Sprintf("the management cluster: Secret %s/%s written, with a token that is good until %s and renewed before", s.management.Namespace, s.entry.Name, until.UTC().Format(time.RFC3339)))
	return nil
}

// works reports whether a token in the Secret is of the account that exists, and reads the cluster. An API server caches the answer, so for some
// seconds it accepts the token of a deleted account. An account that was created again has another uid than that token.
func (s *secretStore) works(ctx context.Context, e *enrollment, there newCluster, own access.ManagedAccess) (bool, error) {
	account, err := there.client.CoreV1().ServiceAccounts(e.grantee.namespace).Get(ctx, e.grantee.account, metav1.GetOptions{})
	if apierrors.IsNotFound(err) { // in a dry run
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read ServiceAccount %s: %w", e.account, explained(err))
	}
	if of := cluster.AccountUID(own.Token); of != "" && of != string(account.UID) {
		cli.Say(e.notes, fmt.Sprintf("%s: ServiceAccount %s was created again, so linkwright replaces the token in Secret %s/%s", e.name, e.account, s.management.Namespace, s.entry.Name))
		return false, nil
	}
	raw, err := there.here.Kubeconfig(e.name, own.Token)
	return err == nil && verify(ctx, raw, probe{own.UID, e.f.Management.Timeout}) == nil, nil
}

func (s *secretStore) wrote(e *enrollment) {
	e.done.wrote(output.Write{Object: s.management.Key("Secret", s.entry.Name)}, !s.was.Record.IsZero())
}

// checkSecret says that the Secret would be written. The API server checks it without a token: in a dry run no account exists that could have
// one.
func (s *secretStore) checkSecret(ctx context.Context, e *enrollment, own access.ManagedAccess) error {
	own.Token = object.NewSecret([]byte("dry-run"))
	if e.f.Writing.Mode == cli.DryRunServer {
		err := s.management.CheckHandOver(ctx, access.Handover{Owner: s.owner, Entry: s.entry, ManagedAccess: own, Was: s.was.Record})
		if cluster.Explain(err).Code != reason.NotFound && err != nil {
			return err
		}
	}
	s.wrote(e)
	cli.Say(e.notes, fmt.Sprintf("the management cluster: Secret %s/%s would be written, with a token that is good for %s at most", s.management.Namespace, s.entry.Name, e.ttl))
	return nil
}

// verifyToken reads the cluster by the token: by the operator's address; the one that linkwright is to use may not be reached from here.
func (e *enrollment) verifyToken(ctx context.Context, there newCluster, token object.Secret, uid string) error {
	raw, err := there.here.Kubeconfig(e.name, token)
	if err != nil {
		return err
	}
	want := probe{uid, e.f.Management.Timeout}
	if err := verify(ctx, raw, want); err != nil {
		return err
	}
	if there.at.IsLocal() {
		e.done.local = append(e.done.local, string(e.name))
	}
	if there.at.Same(there.here) {
		return nil
	}
	if raw, err = there.at.Kubeconfig(e.name, token); err != nil {
		return err
	}
	if err := verify(ctx, raw, want); err != nil {
		cli.Say(e.notes, fmt.Sprintf("warning: %v; ignore this only if linkwright can reach %s from where it runs", err, there.at.Server))
	}
	return nil
}
