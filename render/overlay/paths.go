package overlay

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kustomizations are the names that kustomize looks for in a directory.
func kustomizationNames() []string {
	return []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}
}

// fault is what is wrong with an entry, and what to do.
type fault struct{ message, hint string }

const (
	commitIt  = "linkwright does not fetch anything: commit the files, and name their path"
	plainPath = "write a path relative to this file, with / between its parts"
)

// plain gives a path in the one spelling that kustomize cannot take for anything else than a path: ./a or ../a. Only
// paths that are clean and relative have one; whether they lead to something is another question.
func plain(entry string) (string, *fault) {
	for _, judge := range []func(string) *fault{foreign, unclean} {
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

// foreign finds what may mean something outside the tree: to kustomize, to git, to a shell, or to another system.
func foreign(entry string) *fault {
	odd := strings.IndexFunc(entry, func(r rune) bool { return !usual(r) })
	switch {
	case entry == "":
		return &fault{"is empty", plainPath}
	case !utf8.ValidString(entry):
		return &fault{"is not UTF-8", plainPath}
	case strings.ContainsAny(entry, ":@?%&"):
		return &fault{"is a URL, or may be taken for one", commitIt}
	case strings.HasPrefix(entry, "/"):
		return &fault{"is an absolute path", plainPath}
	case strings.HasPrefix(entry, "~"):
		return &fault{"leads to a home directory", plainPath}
	case strings.Contains(entry, `\`):
		return &fault{"contains a backslash", plainPath}
	case odd >= 0:
		r, _ := utf8.DecodeRuneInString(entry[odd:])
		return &fault{"contains " + strings.TrimSpace(printable(r)), "use only letters, digits, spaces and . _ - + = , in a path"}
	}
	return repository(entry)
}

// usual are the letters of paths. None of them has a meaning to git, in a URL or in a glob.
func usual(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd) || strings.ContainsRune("._-+=, /", r)
}

func printable(r rune) string {
	if unicode.IsPrint(r) {
		return string(r)
	}
	return "a control character"
}

// repository finds the marks by which kustomize splits a repository from a path in it.
func repository(entry string) *fault {
	parts := strings.Split(strings.TrimSuffix(entry, "/"), "/")
	switch {
	case strings.Contains(entry, "//"):
		return &fault{"contains //, which separates a repository from a path in it", plainPath}
	case slices.ContainsFunc(parts, func(p string) bool { return strings.HasSuffix(p, "_git") || strings.HasSuffix(p, ".git") }):
		return &fault{"names a Git repository", commitIt}
	case len(parts) > 1 && strings.Contains(parts[0], ".") && parts[0] != "." && parts[0] != "..":
		return &fault{"begins like a host: " + parts[0], commitIt + "; for a directory of that name, write ./" + entry}
	}
	return nil
}

// unclean finds paths that say in a roundabout way what could be said plainly.
func unclean(entry string) *fault {
	short := strings.TrimSuffix(strings.TrimPrefix(entry, "./"), "/")
	if clean := path.Clean(entry); short != clean && short != "" {
		return &fault{"is not a plain path", "write " + clean}
	}
	if strings.TrimSpace(entry) != entry {
		return &fault{"begins or ends with a space", plainPath}
	}
	return nil
}

// below reports whether a clean path of the tree is dir or lies in it.
func below(dir, name string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}

// outside reports whether a clean path leads out of the tree.
func outside(name string) bool { return name == ".." || strings.HasPrefix(name, "../") }
