package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/linkwright/linkwright/api"
)

// visit is one call at a server, with the credentials of that moment. Its connections live no longer than it.
type visit struct {
	dialer
	path     string
	choice   choice
	store    *store
	before   *files // an older tree, or nil
	multiAck *bool  // the server wants it
	verifier *verifier
	session  transport.UploadPackSession // open, its refs listed, and no pack asked for; or nil
	listed   *packp.AdvRefs              // of session
}

// dialer connects to a server.
type dialer struct {
	remote
	route
}

// errNotStored says that the store does not hold a commit.
var errNotStored = errors.New("the store does not have it")

// snapshot reads rev; last is given again when rev still names it. A full hash is answered with that commit or not at all.
func (v *visit) snapshot(ctx context.Context, rev string, last Snapshot) (Snapshot, error) {
	snap, err := v.revision(ctx, rev, last)
	if err == nil && plumbing.IsHash(rev) && !strings.EqualFold(string(snap.Commit), rev) {
		return Snapshot{}, fmt.Errorf("%w: the server returned %s", ErrRefGone, snap.Commit)
	}
	return snap, err
}

// revision is snapshot before it is compared. A commit that the store holds costs no request.
func (v *visit) revision(ctx context.Context, rev string, last Snapshot) (Snapshot, error) {
	if err := v.store.open(); err != nil {
		return Snapshot{}, err
	}
	if plumbing.IsHash(rev) {
		if snap, err := v.stored(ctx, target{commit: plumbing.NewHash(rev).String()}); !mayHeal(err) {
			return snap, err
		}
	}
	refs, err := v.refs(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	at, err := find(refs, rev)
	if err != nil {
		return Snapshot{}, err
	}
	at = v.reachable(at)
	if last.Commit != "" && at.names(last.Commit) {
		if again, err := v.again(ctx, at, last); again.Commit != "" || err != nil {
			return again, err
		}
	}
	return v.target(ctx, at)
}

// reachable asks for the history at once where a server hangs up on whoever asks for what it did not advertise.
func (v *visit) reachable(at target) target {
	if len(at.tips) == 0 || strings.HasPrefix(v.end.Protocol, "http") {
		return at
	}
	return target{want: at.tips, commit: at.commit, history: true}
}

// target returns a target's snapshot. What is missing is fetched. What turns out to be damaged, or is missing after a fetch, since a damaged pack
// may stand before the new one, is fetched into a new store.
func (v *visit) target(ctx context.Context, at target) (Snapshot, error) {
	snap, err := v.stored(ctx, at)
	for try := range 2 {
		if !mayHeal(err) {
			break
		}
		if try > 0 || !errors.Is(err, errNotStored) {
			if err := v.store.renew(); err != nil {
				return Snapshot{}, err
			}
		}
		got, failed := v.fetch(ctx, at)
		if err = failed; err == nil {
			snap, err = v.stored(ctx, got)
		}
	}
	return snap, err
}

// mayHeal reports whether a fetch may help.
func mayHeal(err error) bool {
	var d *damaged
	return errors.Is(err, errNotStored) || errors.As(err, &d)
}

// stored builds a snapshot of what the store holds.
func (v *visit) stored(ctx context.Context, at target) (Snapshot, error) {
	hash := plumbing.NewHash(at.commit)
	if len(at.commit) < 40 || !slices.Contains(v.store.commits(), hash) {
		return Snapshot{}, errNotStored
	}
	o := v.store.objects()
	defer o.close()
	if len(at.want) == 1 && at.want[0] != hash {
		if _, err := o.find(plumbing.AnyObject, at.want[0]); errors.Is(err, plumbing.ErrObjectNotFound) {
			return Snapshot{}, errNotStored // a tag that was made later
		}
	}
	if err := v.verify(ctx, o, at, hash); err != nil {
		return Snapshot{}, err
	}
	tree, err := o.tree(hash, v.path, v.choice, v.before)
	if err != nil {
		return Snapshot{}, err
	}
	v.before = tree
	return Snapshot{Commit: api.Commit(hash.String()), Tree: tree}, nil
}

// refs lists what the server has, on a session that can still be used for one request.
func (v *visit) refs(ctx context.Context) (*packp.AdvRefs, error) {
	if v.session != nil {
		return v.listed, nil
	}
	session, err := v.open(ctx)
	if err != nil {
		return nil, err
	}
	refs, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		_ = session.Close() // a better error is on its way
		return nil, err
	}
	v.session, v.listed = session, refs
	return refs, nil
}

// use hands the session over; who takes it closes it.
func (v *visit) use() transport.UploadPackSession {
	s := v.session
	v.session, v.listed = nil, nil
	return s
}
