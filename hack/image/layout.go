package main

import (
	"archive/tar"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

const (
	layoutName  = "layout"
	archiveName = "linkwright.tar"
)

// writeLayout writes an OCI layout to out, in place of a former one, and the same as a tarball. containerd, podman, skopeo and docker (from 25)
// load the tarball.
func writeLayout(out string, index v1.ImageIndex) error {
	dir := filepath.Join(out, layoutName)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("write layout: %w", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	version := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": manifest.Annotations["org.opencontainers.image.version"]})
	if err := path.AppendIndex(index, version); err != nil {
		return fmt.Errorf("write layout: %w", err)
	}
	return archive(dir, filepath.Join(out, archiveName))
}

// archive packs a directory: in the order of names, without times and owners, so that the same files make the same bytes.
func archive(dir, file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	w := tar.NewWriter(f)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		return pack(w, dir, path, d.IsDir())
	})
	if err == nil {
		err = w.Close()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

func pack(w *tar.Writer, dir, path string, isDir bool) error {
	name, err := filepath.Rel(dir, path)
	if err != nil {
		return err
	}
	if isDir {
		return w.WriteHeader(&tar.Header{Name: filepath.ToSlash(name) + "/", Mode: 0o755, Typeflag: tar.TypeDir})
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: int64(len(body)), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = w.Write(body)
	return err
}
