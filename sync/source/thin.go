package source

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // the format's own checksum
	"encoding/binary"
	"errors"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
)

// complete makes a thin pack one that stands alone, as git index-pack --fix-thin does: of objects that its deltas refer to and
// that the store has, copies come to its end. (Packs that stand alone cannot be asked for: of whoever takes no thin ones, Git
// believes that a shallow commit is all he has of its files, and sends them all again.)
func complete(f *os.File, bases []plumbing.Hash, o *objects) error {
	var tail bytes.Buffer
	added := uint32(0)
	for _, hash := range bases {
		obj, err := o.find(plumbing.AnyObject, hash)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			continue // it is in the pack itself, or else the index cannot be made
		}
		if err != nil {
			return err
		}
		data, err := o.read(obj, hash)
		if err != nil {
			return err
		}
		if err := appendObject(&tail, obj.Type(), data); err != nil {
			return err
		}
		added++
	}
	if added == 0 {
		return nil
	}
	return appendTail(f, tail.Bytes(), added)
}

// appendObject writes a whole object as it is in a pack: type and size, four bits and then seven at a time, and the content.
func appendObject(to *bytes.Buffer, t plumbing.ObjectType, data []byte) error {
	size := uint64(len(data))
	b := byte(t)<<4 | byte(size&0xf)
	for size >>= 4; size > 0; size >>= 7 {
		to.WriteByte(b | 0x80)
		b = byte(size & 0x7f)
	}
	to.WriteByte(b)
	z := zlib.NewWriter(to)
	_, err := z.Write(data)
	return errors.Join(err, z.Close())
}

// appendTail puts objects in the place of a pack's checksum, counts them in its head, and writes a new checksum.
func appendTail(f *os.File, tail []byte, added uint32) error {
	end, err := f.Seek(-sha1.Size, io.SeekEnd)
	if err != nil {
		return err
	}
	var count [4]byte
	if _, err := f.ReadAt(count[:], 8); err != nil {
		return err
	}
	binary.BigEndian.PutUint32(count[:], binary.BigEndian.Uint32(count[:])+added)
	if _, err := f.WriteAt(count[:], 8); err != nil {
		return err
	}
	if _, err := f.WriteAt(tail, end); err != nil {
		return err
	}
	if err := f.Truncate(end + int64(len(tail))); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sum := sha1.New() //nolint:gosec // see above
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	_, err = f.Write(sum.Sum(nil))
	return err
}
