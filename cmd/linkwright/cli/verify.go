package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/linkwright/linkwright/sync/source"
	"github.com/linkwright/linkwright/sync/trust"
)

// verifyFlags are the flags about signatures that are required. The keys never come from the repository: only from what the operator names.
type verifyFlags struct {
	mode              string
	files             []string
	secret, configMap string
	// secrets and configMaps read one of the management cluster by its name; nil where there is none.
	secrets, configMaps func(ctx context.Context, name string) (map[string][]byte, error)
}

func (v *verifyFlags) add(f *pflag.FlagSet) {
	f.StringVar(&v.mode, "verify", "", "what must be signed: HEAD (the commit), Tag (the tag that --ref names) or TagAndHEAD (default: nothing)")
	OneOf(f, "verify", texts(source.Modes())...)
	f.StringArrayVar(&v.files, "verify-keys", nil, "file or directory with OpenPGP or SSH public keys, or allowed_signers, for --verify; read for every poll (repeatable)")
}

// addManagement is for the commands that have a management cluster.
func (v *verifyFlags) addManagement(f *pflag.FlagSet) {
	f.StringVar(&v.secret, "verify-keys-secret", "", "Secret with keys for --verify in --namespace of the management cluster, all of its entries; read for every poll")
	f.StringVar(&v.configMap, "verify-keys-configmap", "", "ConfigMap with keys for --verify in --namespace of the management cluster, all of its entries; read for every poll")
}

// options adds what the flags say.
func (v *verifyFlags) options(o source.Options) (source.Options, error) {
	named := len(v.files) > 0 || v.secret != "" || v.configMap != ""
	switch {
	case v.mode == "" && !named:
		return o, nil
	case v.mode == "":
		return o, Usage("--verify is missing: keys need --verify %s", modes())
	case !named:
		return o, Usage("--verify %s: public keys are missing: give --verify-keys", v.mode)
	case !slices.Contains(source.Modes(), source.Mode(v.mode)):
		return o, Usage("--verify %q: want %s", v.mode, modes())
	case (v.secret != "" || v.configMap != "") && v.secrets == nil:
		return o, Usage("--verify-keys-secret and --verify-keys-configmap need the management cluster, which this command does not read: use --verify-keys")
	}
	o.Trust = source.Trust{Mode: source.Mode(v.mode), Keys: (&recentKeys{read: v.read}).keys}
	return o, nil
}

func texts[T ~string](words []T) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return out
}

func modes() string { return "HEAD, Tag or TagAndHEAD" }

// plain refuses what has no signatures.
func (v *verifyFlags) plain(name string) error {
	if v.mode != "" {
		return Usage("--verify: %s is not a commit, so it has no signature: use --repo, or write REPO@REV", name)
	}
	return nil
}

// recentKeys parse keys anew only where they have changed.
type recentKeys struct {
	read  func(context.Context) (map[string][]byte, error)
	mu    sync.Mutex
	files map[string][]byte // mu
	last  trust.Keys        // mu
}

func (r *recentKeys) keys(ctx context.Context) (trust.Keys, error) {
	files, err := r.read(ctx)
	if err != nil {
		return trust.Keys{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.files != nil && maps.EqualFunc(files, r.files, bytes.Equal) {
		return r.last, nil
	}
	keys, err := trust.ParseKeys(files)
	if err == nil {
		r.files, r.last = files, keys
	}
	return keys, err
}

// read gives all files of keys as they are now, by names that people find them by.
func (v *verifyFlags) read(ctx context.Context) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, name := range v.files {
		if err := readKeys(out, name); err != nil {
			return nil, fmt.Errorf("--verify-keys: %w", err)
		}
	}
	for _, from := range []struct {
		flag, kind, name string
		read             func(context.Context, string) (map[string][]byte, error)
	}{
		{"--verify-keys-secret", "Secret", v.secret, v.secrets},
		{"--verify-keys-configmap", "ConfigMap", v.configMap, v.configMaps},
	} {
		if from.name == "" {
			continue
		}
		data, err := from.read(ctx, from.name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from.flag, err)
		}
		for entry, value := range data {
			out[from.kind+" "+from.name+", "+entry] = value
		}
	}
	return out, nil
}

// readKeys reads a file, or the files of a directory: what begins with a dot is skipped, so that a mounted Secret is read
// once, and so are the directories in it.
func readKeys(into map[string][]byte, name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		into[name], err = readAtMost(name, trust.MaxBytes+1)
		return err
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		file := filepath.Join(name, e.Name())
		info, err := os.Stat(file) // of what a link names
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case err != nil:
			return err
		case !info.IsDir():
			if into[file], err = readAtMost(file, trust.MaxBytes+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// readAtMost reads the beginning of a file.
func readAtMost(name string, size int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return io.ReadAll(io.LimitReader(f, size))
}
