package overlay

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kustomizationNames are the names of kustomization files that kustomize knows.
func kustomizationNames() []string {
	return []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}
}

// fault is what is wrong with an entry, and what to do about it.
type fault struct{ message, hint string }

const (
	commitHint    = "linkwright does not fetch anything: commit the files, and name their path"
	plainPathHint = "write a path relative to this file, with / between its parts"
)

// normalize returns a path in a form that kustomize can only take for a path: ./a or ../a. Only
// clean and relative paths have one. It does not check that the path exists.
func normalize(entry string) (string, *fault) {
	for _, judge := range []func(string) *fault{notLocal, unclean} {
		if f := judge(entry); f != nil {
			return "", f
		}
	}
	clean := path.Clean(entry)
	if clean != "." && clean != ".." && !strings.HasPrefix(clean, "../") {
		clean = "./" + clean
	}
	return clean, nil
}

// notLocal finds entries that may mean something outside the tree to kustomize, to git, to a shell, or on another system.
func notLocal(entry string) *fault {
	odd := strings.IndexFunc(entry, func(r rune) bool { return !isPathRune(r) })
	switch {
	case entry == "":
		return &fault{"is empty", plainPathHint}
	case !utf8.ValidString(entry):
		return &fault{"is not UTF-8", plainPathHint}
	case strings.ContainsAny(entry, ":@?%&"):
		return &fault{"is a URL, or may be taken for one", commitHint}
	case strings.HasPrefix(entry, "/"):
		return &fault{"is an absolute path", plainPathHint}
	case strings.HasPrefix(entry, "~"):
		return &fault{"leads to a home directory", plainPathHint}
	case strings.Contains(entry, `\`):
		return &fault{"contains a backslash", plainPathHint}
	case odd >= 0:
		r, _ := utf8.DecodeRuneInString(entry[odd:])
		return &fault{"contains " + strings.TrimSpace(printable(r)), "use only letters, digits, spaces and . _ - + = , in a path"}
	}
	return gitRepository(entry)
}

// isPathRune are the letters of paths. None of them has a meaning to git, in a URL or in a glob.
func isPathRune(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd) || strings.ContainsRune("._-+=, /", r)
}

func printable(r rune) string {
	if unicode.IsPrint(r) {
		return string(r)
	}
	return "a control character"
}

// gitRepository finds the separators between a repository and a path in it.
func gitRepository(entry string) *fault {
	parts := strings.Split(strings.TrimSuffix(entry, "/"), "/")
	switch {
	case strings.Contains(entry, "//"):
		return &fault{"contains //, which separates a repository from a path in it", plainPathHint}
	case slices.ContainsFunc(parts, func(p string) bool { return strings.HasSuffix(p, "_git") || strings.HasSuffix(p, ".git") }):
		return &fault{"names a Git repository", commitHint}
	case len(parts) > 1 && strings.Contains(parts[0], ".") && parts[0] != "." && parts[0] != "..":
		return &fault{"begins like a host: " + parts[0], commitHint + "; for a directory of that name, write ./" + entry}
	}
	return nil
}

// unclean finds paths that can be written shorter.
func unclean(entry string) *fault {
	short := strings.TrimSuffix(strings.TrimPrefix(entry, "./"), "/")
	if clean := path.Clean(entry); short != clean && short != "" {
		return &fault{"is not a plain path", "write " + clean}
	}
	if strings.TrimSpace(entry) != entry {
		return &fault{"begins or ends with a space", plainPathHint}
	}
	return nil
}

// isWithin reports whether a clean path of the tree is dir or in it.
func isWithin(dir, name string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}

// outside reports whether a clean path leads out of the tree.
func outside(name string) bool { return name == ".." || strings.HasPrefix(name, "../") }
