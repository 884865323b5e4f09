package source

import (
	"context"
	"net/http"

	"github.com/linkwright/linkwright/api"
)

// visit is one call at a server, with the credentials of that moment. Its connections live no longer than it.
type visit struct {
	remote
	who  credentials
	path string
	http *http.Transport
}

// snapshot reads rev; last is given again when rev still names it. A last that is empty guards nothing.
func (v *visit) snapshot(ctx context.Context, rev string, last Snapshot) (Snapshot, error) {
	session, err := v.open(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	defer session.Close() //nolint:errcheck // everything wanted was read, or a better error is on its way
	refs, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	at, err := find(refs, rev)
	if err != nil {
		return Snapshot{}, err
	}
	if last.Commit != "" {
		if at.names(last.Commit) {
			return last, nil
		}
		if err := v.forward(ctx, at, last.Commit); err != nil {
			return Snapshot{}, err
		}
	}
	objects, err := fetch(ctx, session, refs, at)
	if err != nil {
		return Snapshot{}, err
	}
	commit, tree, err := objects.tree(at, v.path)
	if err != nil {
		return Snapshot{}, err
	}
	return Snapshot{Commit: api.Commit(commit.String()), Tree: tree}, nil
}
