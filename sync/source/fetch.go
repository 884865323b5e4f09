package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/linkwright/linkwright/api"
)

// MaxFetch bounds, in bytes, both the pack that a server sends and the objects in it. It counts the whole commit, not
// only Path: Git cannot fetch a directory.
const MaxFetch = 512 << 20

// objects are what one fetch brought. They live until the tree is built: every commit is fetched whole into a store of
// its own, so that memory holds one commit's files and not the sum of all that were ever polled.
type objects struct {
	*memory.Storage
	left int64
}

// SetEncodedObject counts what a pack unpacks to; a small pack may unpack to much.
func (o *objects) SetEncodedObject(obj plumbing.EncodedObject) (plumbing.Hash, error) {
	if o.left -= obj.Size(); o.left < 0 {
		return plumbing.ZeroHash, errTooLarge()
	}
	return o.Storage.SetEncodedObject(obj)
}

func errTooLarge() error {
	return fmt.Errorf("the commit holds more than %d MiB: keep declarations in a repository of their own", MaxFetch>>20)
}

// fetch asks for a target: one commit without its ancestors, unless it has to be looked for.
func fetch(ctx context.Context, s transport.UploadPackSession, refs *packp.AdvRefs, at target) (*objects, error) {
	request := packp.NewUploadPackRequestFromCapabilities(refs.Capabilities)
	request.Wants = at.want
	if !at.history && refs.Capabilities.Supports(capability.Shallow) {
		request.Depth = packp.DepthCommits(1)
		if err := request.Capabilities.Set(capability.Shallow); err != nil {
			return nil, err
		}
	}
	pack, err := upload(ctx, s, request)
	if err != nil {
		return nil, err
	}
	defer pack.Close() //nolint:errcheck // the pack carries a checksum, which was compared
	into := &objects{Storage: memory.NewStorage(), left: MaxFetch}
	bounded := &io.LimitedReader{R: pack, N: MaxFetch}
	err = packfile.UpdateObjectStorage(into, bounded)
	if err != nil && bounded.N <= 0 {
		return nil, errTooLarge()
	}
	return into, err
}

// upload gives the pack that the server makes of a request.
func upload(ctx context.Context, s transport.UploadPackSession, r *packp.UploadPackRequest) (io.ReadCloser, error) {
	response, err := s.UploadPack(ctx, r)
	if err != nil && strings.Contains(err.Error(), "not our ref") { // git's words; go-git has no type for them
		return nil, fmt.Errorf("%w: the server has none that it lets us read", ErrRefGone)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case r.Capabilities.Supports(capability.Sideband64k):
		return demuxed{sideband.NewDemuxer(sideband.Sideband64k, response), response}, nil
	case r.Capabilities.Supports(capability.Sideband):
		return demuxed{sideband.NewDemuxer(sideband.Sideband, response), response}, nil
	}
	return response, nil
}

type demuxed struct {
	io.Reader
	io.Closer
}

// forward makes sure that a head did not go back. We ask for the head and say that we have the last commit: where the
// head is its ancestor, nothing is missing, and the server sends a pack of no objects. Of any other pack only the count
// in its first twelve bytes is read. A server that forgot the last commit cannot know, and sends something.
func (v *visit) forward(ctx context.Context, to target, last api.Commit) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	session, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer session.Close() //nolint:errcheck // it was cut off on purpose
	refs, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return err
	}
	request := packp.NewUploadPackRequestFromCapabilities(refs.Capabilities)
	request.Wants, request.Haves = to.want, []plumbing.Hash{plumbing.NewHash(string(last))}
	pack, err := upload(ctx, session, request)
	if err != nil {
		return err
	}
	defer pack.Close() //nolint:errcheck // it was cut off on purpose
	_, count, err := packfile.NewScanner(pack).Header()
	if err != nil {
		return err
	}
	cancel()
	_, _ = io.Copy(io.Discard, pack) // lets a local server feel the cut; it would wait for a reader
	if count == 0 {
		return fmt.Errorf("%w: %s is an ancestor of %s, which was given before; push a commit that reverts instead",
			ErrRewound, api.Commit(to.commit).Short(), last.Short())
	}
	return nil
}

// one finds the commit that a target names among what was fetched.
func (o *objects) one(at target) (plumbing.Hash, error) {
	if full := plumbing.NewHash(at.commit); len(at.commit) == 40 {
		if _, ok := o.Commits[full]; !ok {
			return full, ErrRefGone
		}
		return full, nil
	}
	var found []plumbing.Hash
	for hash := range o.Commits {
		if strings.HasPrefix(hash.String(), at.commit) {
			found = append(found, hash)
		}
	}
	switch len(found) {
	case 0:
		return plumbing.ZeroHash, ErrRefGone
	case 1:
		return found[0], nil
	}
	return plumbing.ZeroHash, errors.New("several commits begin so: give more digits")
}
