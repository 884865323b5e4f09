package fleet

import (
	"bytes"
	"cmp"
	"io"
	"io/fs"
	"path"
	"slices"
	"unicode/utf8"

	"github.com/linkwright/linkwright/api"
)

// The codes of secrets that were found in a tree. They are part of the interface and do not change.
const (
	SopsFile             = "SopsFile"
	SecretManifest       = "SecretManifest"
	SecretGenerator      = "SecretGenerator"
	KubeconfigCredential = "KubeconfigCredential"
	PrivateKey           = "PrivateKey"
	Token                = "Token"
)

// SecretRules returns all kinds of errors that Secrets may return.
func SecretRules() []Rule {
	return []Rule{
		{SopsFile, "A file is encrypted by sops, and linkwright does not decrypt files."},
		{SecretManifest, "A Kubernetes Secret holds data, by itself or in a list."},
		{SecretGenerator, "A kustomization generates a Secret from files in Git."},
		{KubeconfigCredential, "A kubeconfig holds a credential: a token, a password, a key, or the credential of a plugin."},
		{PrivateKey, "A file contains a private key of PEM or PuTTY, plain or in base64."},
		{Token, "A file contains a token of GitHub, GitLab, AWS, Google, Slack, Vault, age or npm, or a JSON Web Token."},
	}
}

const (
	// MaxSearchedBytes bounds the part of one file that is searched for secrets.
	MaxSearchedBytes = MaxFileBytes
	// maxSearchedMarks bounds, over all files, what is parsed only to find secrets; see MaxMarks.
	maxSearchedMarks = MaxMarks / 6
	// maxGuessedBytes bounds, over all files, what is parsed although its name does not end in .yaml or .json.
	maxGuessedBytes = 4 << 20
	// maxSecrets bounds the errors for one file.
	maxSecrets = 20
)

const (
	secretHint        = "have your secret manager write it to an access Secret of the management cluster, and name that in spec.access.kubeconfigSecret"
	exposedSecretHint = "replace it, because everybody who reads the repository knows it; " + secretHint
)

// Secrets returns an error for each secret in a tree, also in hidden files and in directories of kustomize. No error quotes the
// secret. Load calls it for a tree of plain YAML; a tree that kustomize builds is searched before the build. It guards against
// accidents: a secret that somebody hides on purpose is not found.
func Secrets(tree fs.FS) []api.Problem {
	s := search{tree: tree}
	_ = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error { // errors are reported elsewhere
		if err == nil && d.Type().IsRegular() {
			s.file(name)
		}
		return nil
	})
	slices.SortFunc(s.found, compareProblems)
	return s.found
}

// Unbuilt reports whether kustomize has to build a tree before it can be loaded.
func Unbuilt(tree fs.FS) bool {
	_, built := tree.(Built)
	return !built && kustomization(tree, ".") != ""
}

// search is one search of a tree.
type search struct {
	tree   fs.FS
	buffer bytes.Buffer // of the current file, reused for all
	extent extent
	// Files whose format is guessed. Those beyond the bounds are ignored.
	guessed      extent
	guessedBytes int
	found        []api.Problem
}

// file searches one file. If its structure shows a secret, its text is not searched for another.
func (s *search) file(name string) {
	f, err := s.tree.Open(name)
	if err != nil {
		return
	}
	defer f.Close() //nolint:errcheck // it was only read
	s.buffer.Reset()
	if _, err := io.Copy(&s.buffer, io.LimitReader(f, MaxSearchedBytes)); err != nil {
		return
	}
	data := asUTF8(s.buffer.Bytes())
	found := s.structure(name, data, s.buffer.Len() == MaxSearchedBytes)
	if len(found) == 0 {
		found = append(privateKeys(name, data), tokens(name, data)...)
	}
	s.found = append(s.found, found[:min(len(found), maxSecrets)]...)
}

// structure searches a file as YAML or JSON. It parses the file only if it contains one of a few words.
func (s *search) structure(name string, data []byte, cut bool) []api.Problem {
	if at := sopsText(name, data); at > 0 {
		return []api.Problem{sopsProblem(api.Pos{File: name, Line: at, Col: 1})}
	}
	named := structured(name)
	if !named && isExample(name) || !mayHoldSecrets(data) {
		return nil
	}
	within := s.guess
	if named {
		within = s.count
	}
	tooMuch := !within(data) || cut
	switch {
	case tooMuch && named:
		return []api.Problem{{
			Pos:     api.Pos{File: name},
			Message: "cannot be searched for secrets, because it is too large, and it contains words that secrets have",
			Hint:    "split it, or move it out of the directory that linkwright reads",
		}}
	case tooMuch, exceedsBounds(data) != nil: // the latter is reported when it is read as a declaration
		return nil
	}
	var out []api.Problem
	parse(name, data, func(p parsed) { out = append(out, secretsIn(p)...) })
	return out
}

// count reports whether a file is within the bounds of what is parsed.
func (s *search) count(data []byte) bool {
	measured := measure(data)
	s.extent.add(measured)
	return measured.over == 0 && s.extent.marks <= maxSearchedMarks && s.extent.documents <= MaxDocuments
}

// guess is count for a file whose format is guessed; one that is too large does not use up the bound.
func (s *search) guess(data []byte) bool {
	if s.guessedBytes+len(data) > maxGuessedBytes {
		return false
	}
	measured := measure(data)
	after := s.guessed
	after.add(measured)
	if measured.over > 0 || after.marks > maxSearchedMarks || after.documents > MaxDocuments {
		return false
	}
	s.guessed, s.guessedBytes = after, s.guessedBytes+len(data)
	return true
}

// structured reports whether a file may be YAML or JSON by its name.
func structured(name string) bool {
	return isYAML(name) || slices.Contains([]string{"", ".json", ".conf", ".config", ".kubeconfig"}, path.Ext(name)) || path.Base(name)[0] == '.'
}

// isExample reports whether a file is an example by its name: only private keys in it are reported.
func isExample(name string) bool {
	return slices.Contains([]string{".md", ".markdown", ".rst", ".adoc", ".example", ".sample", ".dist"}, path.Ext(name))
}

// secretAt is a problem with a place.
func secretAt(at api.Pos, code, message, hint string) api.Problem {
	return api.Problem{Pos: at, Code: code, Message: message, Hint: cmp.Or(hint, exposedSecretHint)}
}

// placeAt is the position of an offset.
func placeAt(name string, data []byte, at int) api.Pos {
	line := bytes.LastIndexByte(data[:at], '\n') + 1
	return api.Pos{File: name, Line: 1 + bytes.Count(data[:at], []byte("\n")), Col: 1 + utf8.RuneCount(data[line:at])}
}
