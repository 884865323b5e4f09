package overlay

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"

	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/api"
)

// Flatten gives a tree whose root holds no Kustomization as it is, and starts nothing for it. Another one is built: what
// comes back is the tree with a method Built, which gives the result. Problems are what is wrong with the tree, bounds that
// it exceeds among them; an error is what this machine failed at, and says nothing about the tree. After either, no tree
// comes back, and the next call tries again.
func (c *Cage) Flatten(ctx context.Context, tree fs.FS) (fs.FS, []api.Problem, error) {
	g := newGate(tree, c.options.Limits)
	if len(g.kustomizations(".")) == 0 {
		return tree, nil, nil
	}
	root, problems := g.root()
	if len(problems) > 0 {
		return nil, problems, nil
	}
	if stream, known := c.memo.get(root.Hash); known {
		return flat{tree, stream}, nil, nil
	}
	stream, err := c.stream(ctx, job{Files: root.Files, Dir: root.Dir})
	if hint, blamed := blames(err); blamed {
		return nil, []api.Problem{{Pos: api.Pos{File: root.File}, Message: "cannot be built: " + err.Error(), Hint: hint}}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("build %s: %w", root.File, err)
	}
	c.memo.put(root.Hash, stream)
	return flat{tree, stream}, nil, nil
}

// stream builds, and gives all objects as one stream.
func (c *Cage) stream(ctx context.Context, j job) ([]byte, error) {
	b, err := c.build(ctx, j)
	if err != nil {
		return nil, err
	}
	return b.stream()
}

// stream is all objects, in kustomize's order, as YAML documents.
func (b built) stream() ([]byte, error) {
	var out bytes.Buffer
	for _, o := range b.Objects {
		text, err := yaml.JSONToYAML(o.Body)
		if err != nil {
			return nil, err
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.Bytes(), nil
}

// flat is a tree whose root is a Kustomization, with what that gives.
type flat struct {
	fs.FS
	stream []byte
}

// Built is the result of the Kustomization: a stream of YAML documents in kustomize's order. Each bears the annotation
// config.kubernetes.io/origin with the path of its file in the tree. The bytes belong to the tree.
func (f flat) Built() []byte { return f.stream }

// Lstat implements fs.ReadLinkFS.
func (f flat) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(f.FS, name) }

// ReadDir implements fs.ReadDirFS.
func (f flat) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(f.FS, name) }

// ReadFile implements fs.ReadFileFS.
func (f flat) ReadFile(name string) ([]byte, error) { return fs.ReadFile(f.FS, name) }

// ReadLink implements fs.ReadLinkFS.
func (f flat) ReadLink(name string) (string, error) { return fs.ReadLink(f.FS, name) }

// Stat implements fs.StatFS.
func (f flat) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.FS, name) }
