package source

import (
	"context"
	"crypto/tls"
	"net/http"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/file"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/linkwright/linkwright/api"
)

// visit is one call at a server, with the credentials of that moment. Its connections live no longer than it.
type visit struct {
	remote
	who  credentials
	path string
	http *http.Transport
}

// leave closes the connections that http keeps for the next request of a visit.
func (v *visit) leave() {
	if v.http != nil {
		v.http.CloseIdleConnections()
	}
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

// open begins a session. Only ssh connects already; ctx ends it, also while the server says nothing.
func (v *visit) open(ctx context.Context) (transport.UploadPackSession, error) {
	end := new(v.end) // a copy: go-git rewrites it when it follows a redirect
	switch end.Protocol {
	case "ssh":
		return dialSSH(ctx, end, v.who)
	case "file":
		return file.DefaultClient.NewUploadPackSession(end, nil)
	}
	if v.http == nil {
		v.http = http.DefaultTransport.(*http.Transport).Clone()
		v.http.TLSClientConfig = &tls.Config{RootCAs: v.who.ca, MinVersion: tls.VersionTLS12}
	}
	return githttp.NewClient(&http.Client{Transport: v.http}).NewUploadPackSession(end, v.who.http())
}
