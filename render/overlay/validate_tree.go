package overlay

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/linkwright/linkwright/api"
)

// resolve follows a normalized path from a directory, part by part, so that nothing on the way is a symbolic link. It returns a
// clean path of the tree.
func (g *validator) resolve(at api.Pos, dir, plain string) (string, bool) {
	name := path.Join(dir, plain)
	if outside(name) {
		g.fail(at, quote(plain)+" leads out of the tree", commitHint)
		return "", false
	}
	here := "."
	if name == "." {
		return name, true
	}
	for part := range strings.SplitSeq(name, "/") {
		if !g.exists(at, here, part) {
			return "", false
		}
		here = path.Join(here, part)
	}
	return name, true
}

// exists reports whether a directory has a file or a directory of that name, and fails anything else.
func (g *validator) exists(at api.Pos, dir, part string) bool {
	e, found := g.entry(dir, part)
	switch {
	case !found:
		names := make([]string, 0, len(g.entries[dir]))
		for _, e := range g.entries[dir] {
			names = append(names, e.Name())
		}
		g.fail(at, "there is no "+path.Join(dir, part), api.DidYouMean(part, names))
	case e.Type()&fs.ModeSymlink != 0:
		g.fail(at, path.Join(dir, part)+" is a symbolic link, which linkwright does not follow", "name what it points to")
	case !e.Type().IsRegular() && !e.IsDir():
		g.fail(at, path.Join(dir, part)+" is neither a file nor a directory", "")
	default:
		return true
	}
	return false
}

// isRegular reports whether a directory has a regular file of that name.
func (g *validator) isRegular(at api.Pos, dir, part string) bool {
	if !g.exists(at, dir, part) {
		return false
	}
	if e, _ := g.entry(dir, part); !e.Type().IsRegular() {
		g.fail(at, path.Join(dir, part)+" is a directory, and a file is expected here", "")
		return false
	}
	return true
}

// entry finds a name in a directory; a directory that cannot be listed is empty.
func (g *validator) entry(dir, name string) (fs.DirEntry, bool) {
	list, known := g.entries[dir]
	if !known {
		list, _ = fs.ReadDir(g.tree, dir)
		g.entries[dir] = list
	}
	i := slices.IndexFunc(list, func(e fs.DirEntry) bool { return e.Name() == name })
	if i < 0 {
		return nil, false
	}
	return list[i], true
}

// readFile reads a regular file of the tree, within the limits.
func (g *validator) readFile(file string, at api.Pos) ([]byte, bool) {
	info, err := fs.Stat(g.tree, file)
	if err == nil && info.Size() > maxFile {
		g.fail(at, fmt.Sprintf("%s is too large: at most %d MiB are read", file, maxFile>>20), "split the file")
		return nil, false
	}
	var data []byte
	if err == nil {
		data, err = fs.ReadFile(g.tree, file)
	}
	if err != nil {
		g.fail(at, file+" cannot be read: "+err.Error(), "")
		return nil, false
	}
	if g.bytes += int64(len(data)); g.bytes > g.limits.Bytes {
		g.fail(at, fmt.Sprintf("with %s, the files are too large in total: at most %d MiB are read", file, g.limits.Bytes>>20), "")
		return nil, false
	}
	return data, true
}

// hash is the hash of all names and contents.
func hash(dir string, files map[string][]byte) string {
	h := sha256.New()
	add := func(b []byte) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
		h.Write(b)
	}
	add([]byte(dir))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		add([]byte(name))
		add(files[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// quote quotes an entry for a message: on one line, and shortened.
func quote(entry string) string {
	const most = 80
	if len(entry) > most {
		entry = strings.ToValidUTF8(entry[:most], "") + "…"
	}
	return strconv.Quote(entry)
}
