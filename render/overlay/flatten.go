package overlay

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"

	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/api"
)

// Flatten returns a tree without a Kustomization in its root as it is. It builds any other tree, and returns it with a method
// Built, which has the result. Problems are about the tree, including bounds that it exceeds; an error is about this machine. In
// both cases it returns no tree, and the next call tries again.
func (c *Sandbox) Flatten(ctx context.Context, tree fs.FS) (fs.FS, []api.Problem, error) {
	g := newValidator(tree, c.options.Limits)
	if len(g.kustomizations(".")) == 0 {
		return tree, nil, nil
	}
	root, problems := g.validateRoot()
	if len(problems) > 0 {
		return nil, problems, nil
	}
	if stream, known := c.memo.get(root.Hash); known {
		return builtTree{tree, stream}, nil, nil
	}
	stream, err := c.stream(ctx, job{Files: root.Files, Dir: root.Dir})
	if hint, blamed := inputHint(err); blamed {
		return nil, []api.Problem{{Pos: api.Pos{File: root.File}, Message: "kustomize cannot build it: " + err.Error(), Hint: hint}}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("build %s: %w", root.File, err)
	}
	c.memo.put(root.Hash, stream)
	return builtTree{tree, stream}, nil, nil
}

// stream builds a job, and returns all objects as one stream.
func (c *Sandbox) stream(ctx context.Context, j job) ([]byte, error) {
	b, err := c.build(ctx, j)
	if err != nil {
		return nil, err
	}
	return b.stream()
}

// stream is all objects, in kustomize's order, as YAML documents.
func (b buildResult) stream() ([]byte, error) {
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

// builtTree is a tree with a Kustomization in its root, and the result of its build.
type builtTree struct {
	fs.FS
	stream []byte
}

// Built is the result of the build: a stream of YAML documents in kustomize's order. Each has the annotation
// config.kubernetes.io/origin with the path of its file in the tree. The caller must not change the bytes.
func (f builtTree) Built() []byte { return f.stream }

// Lstat implements fs.ReadLinkFS.
func (f builtTree) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(f.FS, name) }

// ReadDir implements fs.ReadDirFS.
func (f builtTree) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(f.FS, name) }

// ReadFile implements fs.ReadFileFS.
func (f builtTree) ReadFile(name string) ([]byte, error) { return fs.ReadFile(f.FS, name) }

// ReadLink implements fs.ReadLinkFS.
func (f builtTree) ReadLink(name string) (string, error) { return fs.ReadLink(f.FS, name) }

// Stat implements fs.StatFS.
func (f builtTree) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.FS, name) }
