package source

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// objects are what a store holds, as one visit sees it. Whatever is read is compared with its hash: a disk may give
// something else than was put there.
type objects struct {
	storage *filesystem.Storage
}

// objects opens the store's packs for reading.
func (s *store) objects() *objects {
	return &objects{filesystem.NewStorageWithOptions(osfs.New(s.dir()), cache.NewObjectLRU(8*cache.MiByte),
		filesystem.Options{KeepDescriptors: true})}
}

func (o *objects) close() { _ = o.storage.Close() } // nothing was written

// find looks for an object without reading it.
func (o *objects) find(t plumbing.ObjectType, hash plumbing.Hash) (plumbing.EncodedObject, error) {
	obj, err := o.storage.EncodedObject(t, hash)
	if err != nil {
		return nil, &damaged{fmt.Errorf("%s %s: %w", t, hash, err)}
	}
	return obj, nil
}

// read returns an object's content.
func (o *objects) read(obj plumbing.EncodedObject, hash plumbing.Hash) ([]byte, error) {
	data, err := content(obj)
	if err == nil && plumbing.ComputeHash(obj.Type(), data) != hash {
		err = errors.New("its content does not match its hash")
	}
	if err != nil {
		return nil, &damaged{fmt.Errorf("%s %s: %w", obj.Type(), hash, err)}
	}
	return data, nil
}

func content(obj plumbing.EncodedObject) ([]byte, error) {
	r, err := obj.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // it was only read
	return io.ReadAll(r)
}

// raw returns the bytes of a commit or a tag, as they were signed.
func (o *objects) raw(t plumbing.ObjectType, hash plumbing.Hash) ([]byte, error) {
	obj, err := o.find(t, hash)
	if err != nil {
		return nil, err
	}
	return o.read(obj, hash)
}

// decodable returns an object in the form that go-git's decoders take.
func (o *objects) decodable(t plumbing.ObjectType, hash plumbing.Hash) (plumbing.EncodedObject, error) {
	data, err := o.raw(t, hash)
	if err != nil {
		return nil, err
	}
	obj := &plumbing.MemoryObject{}
	obj.SetType(t)
	_, err = obj.Write(data)
	return obj, err
}
