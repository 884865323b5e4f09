package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/linkwright/linkwright/sync/forge"
)

// maxHaves bounds the commits that a request names as held: the newest ones are the likeliest to be near.
const maxHaves = 16

// fetch brings a target into the store, and says which commit it is. It asks for one commit without its ancestors, and
// tells which ones we hold whole, as shallow ones: the server then leaves out what they have, and takes nothing else for
// granted. The store is marked only once the commit is there.
func (v *visit) fetch(ctx context.Context, at target) (target, error) {
	if err := v.store.open(); err != nil {
		return at, err
	}
	if err := v.store.limitSize(); err != nil {
		return at, err
	}
	err := v.bring(ctx, at)
	if errors.Is(err, ErrRefGone) && len(at.tips) > 0 {
		at = target{want: at.tips, commit: at.commit, history: true}
		err = v.bring(ctx, at)
	}
	if err != nil {
		return at, err
	}
	o := v.store.objects()
	defer o.close()
	if len(at.commit) < 40 {
		hash, err := o.commitIn(at.commit)
		if err != nil {
			return at, err
		}
		at.commit = hash.String()
	}
	hash := plumbing.NewHash(at.commit)
	if _, err := o.find(plumbing.CommitObject, hash); at.history && errors.Is(err, plumbing.ErrObjectNotFound) {
		return at, ErrRefGone
	} else if err != nil {
		return at, err
	}
	return at, v.store.addCommit(hash)
}

// bring asks once and stores what comes.
func (v *visit) bring(ctx context.Context, at target) error {
	ctx, cut := context.WithCancel(ctx)
	defer cut()
	response, err := v.upload(ctx, func(refs *packp.AdvRefs) *packp.UploadPackRequest {
		return v.request(refs, at)
	})
	if err != nil {
		return err
	}
	defer response.drop(cut)
	return v.store.add(ctx, response)
}

// drop ends an answer, read or not. A local server feels the cut only when somebody reads; it would wait for that for ever.
func (p *pack) drop(cut func()) {
	cut()
	_, _ = io.Copy(io.Discard, p)
	_ = p.Close() // all that was wanted of it was read, or a better error is on its way
}

func (v *visit) request(refs *packp.AdvRefs, at target) *packp.UploadPackRequest {
	r := packp.NewUploadPackRequestFromCapabilities(refs.Capabilities)
	r.Wants = at.want
	if at.history || !refs.Capabilities.Supports(capability.Shallow) {
		return r // whoever knows of no shallow commits would think that we hold the ancestors, too
	}
	_ = r.Capabilities.Set(capability.Shallow) // it takes no arguments, so none can be wrong
	r.Depth = packp.DepthCommits(1)
	held := v.store.commits()
	if len(held) == 0 {
		return r
	}
	_ = r.Capabilities.Set(capability.ThinPack) // all servers know it; go-git hides that, since it cannot read one
	held = held[max(0, len(held)-maxHaves):]
	r.Shallows = append(r.Shallows, held...)
	r.Haves = append(r.Haves, held...)
	return r
}

// pack is the server's answer to a request: a pack, and which of the commits that we named it has.
type pack struct {
	io.Reader
	io.Closer
	common []plumbing.Hash
}

// upload asks the server. One that answers nothing without multi_ack, as Azure DevOps, is asked again with it, and so for
// as long as this process lives; since we say all in one round, the answer is the same but for more lines before the pack.
func (v *visit) upload(ctx context.Context, request func(*packp.AdvRefs) *packp.UploadPackRequest) (*pack, error) {
	for {
		multi := *v.multiAck
		refs, err := v.refs(ctx)
		if err != nil {
			return nil, err
		}
		r := request(refs)
		if multi {
			_ = r.Capabilities.Set(capability.MultiACKDetailed) // it takes no arguments, so none can be wrong
		}
		session := v.use()
		response, err := session.UploadPack(ctx, r)
		if err == nil {
			v.preamble.lift()
			return unpacked(r, response, session), nil
		}
		_ = session.Close() // a better error is on its way
		if multi || ctx.Err() != nil || !wantsMultiAck(err) {
			return nil, gone(err)
		}
		*v.multiAck = true
	}
}

// wantsMultiAck reports whether a server's answer is what Azure DevOps answers without it: 400 over https, nothing over ssh.
func wantsMultiAck(err error) bool {
	var refused *forge.Refusal
	return errors.Is(err, transport.ErrEmptyUploadPackRequest) || errors.Is(err, io.EOF) ||
		errors.As(unwrapLibrary(err), &refused) && refused.Code == http.StatusBadRequest
}

func gone(err error) error {
	if strings.Contains(err.Error(), "not our ref") { // git's words; go-git has no type for them
		return fmt.Errorf("%w: the server has none that linkwright may read", ErrRefGone)
	}
	return err
}

func unpacked(r *packp.UploadPackRequest, response *packp.UploadPackResponse, session io.Closer) *pack {
	p := &pack{Reader: response, Closer: closers{response, session}, common: response.ACKs}
	switch {
	case r.Capabilities.Supports(capability.Sideband64k):
		p.Reader = sideband.NewDemuxer(sideband.Sideband64k, response)
	case r.Capabilities.Supports(capability.Sideband):
		p.Reader = sideband.NewDemuxer(sideband.Sideband, response)
	}
	return p
}

// closers are closed in their order.
type closers []io.Closer

func (c closers) Close() error {
	var errs []error
	for _, one := range c {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}
