package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Finding is an error whose place is still a path into its document. Every kind has a Check that gives all findings
// about its values; whether fields exist and have the right type is the decoder's business.
type Finding struct {
	Path          Path
	Message, Hint string
	// Absent: nothing of what the field needs is declared. A problem with a field below it, such as a misspelled name, is the cause.
	Absent bool
}

// Path leads from a document to a field: keys, and indices in decimal.
type Path []string

// String gives spec.gateway.addresses[0]; keys that are no plain words stand in brackets, too.
func (p Path) String() string {
	var b strings.Builder
	for i, key := range p {
		_, err := strconv.Atoi(key)
		switch {
		case err == nil || strings.ContainsAny(key, "./ "):
			b.WriteString("[" + key + "]")
		case i > 0:
			b.WriteString("." + key)
		default:
			b.WriteString(key)
		}
	}
	return b.String()
}

// CheckClusterName returns what is wrong with a cluster's name. Linkerd builds other names from it (service mirrors,
// controllers, probe services, label values), of which controller-<name> as a label is the narrowest: 52 characters.
func CheckClusterName(name ClusterName) error {
	const most = 52
	switch {
	case name == "federated":
		return fmt.Errorf("a cluster cannot be named %q, because its mirrors would collide with federated services", name)
	case len(name) > most:
		return fmt.Errorf("%q has %d characters; a cluster name has at most %d", name, len(name), most)
	case len(validation.IsDNS1035Label(string(name))) > 0:
		return fmt.Errorf("%q is not a valid cluster name: use lower case letters, digits and -, begin with a letter, and do not end in -", name)
	}
	return nil
}

// prefixed puts a field before the paths of findings.
func prefixed(field string, found []Finding) []Finding {
	for i := range found {
		found[i].Path = slices.Insert(found[i].Path, 0, field)
	}
	return found
}

func finding(format string, args ...any) []Finding {
	return []Finding{{Message: fmt.Sprintf(format, args...)}}
}

func findingWithHint(hint, format string, args ...any) []Finding {
	return []Finding{{Message: fmt.Sprintf(format, args...), Hint: hint}}
}

// checkSyntax turns the errors of a Kubernetes validator into one finding; an empty value is absent.
func checkSyntax[S ~string](value S, validate func(string) []string) []Finding {
	if value == "" {
		return nil
	}
	if wrong := validate(string(value)); len(wrong) > 0 {
		return finding("%q: %s", value, syntax(wrong))
	}
	return nil
}

// checkWord checks an enumeration; an empty value is absent.
func checkWord[E enum](value E) []Finding {
	all := value.Words()
	if value == "" || slices.Contains(all, string(value)) {
		return nil
	}
	return findingWithHint(DidYouMean(string(value), all), "%q is not one of %s", value, strings.Join(all, ", "))
}

func checkPort(port int32) []Finding {
	if port == 0 || len(validation.IsValidPortNum(int(port))) == 0 {
		return nil
	}
	return finding("%d is not a port: use 1 to 65535", port)
}

func checkDNSName(name string) []string { return validation.IsDNS1123Subdomain(name) }

func (m Meta) check() []Finding {
	return slices.Concat(prefixed("name", checkSyntax(m.Name, checkDNSName)), prefixed("labels", checkLabels(m.Labels)))
}

func checkLabels(labels map[string]string) []Finding {
	var found []Finding
	for _, key := range sortedKeys(labels) {
		found = append(found, prefixed(key, checkLabel(key, labels[key]))...)
	}
	return found
}

func checkLabel(key, value string) []Finding {
	var found []Finding
	if wrong := validation.IsQualifiedName(key); len(wrong) > 0 {
		found = append(found, finding("%q is not a valid label key: %s", key, syntax(wrong))...)
	}
	if wrong := validation.IsValidLabelValue(value); len(wrong) > 0 {
		found = append(found, finding("%q is not a valid label value: %s", value, syntax(wrong))...)
	}
	return found
}

// syntax shortens Kubernetes' messages: it leaves out their examples and regular expressions.
func syntax(wrong []string) string {
	const ends = ", with a letter or digit at both ends"
	short := strings.NewReplacer(
		"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
		"an RFC 1123 subdomain has lower-case letters, digits, '-' and '.'"+ends,
		"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
		"an RFC 1123 label has lower-case letters, digits and '-'"+ends,
		"a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
		"an RFC 1035 label has lower-case letters, digits and '-', with a letter first, and a letter or digit last",
		"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
		"use letters, digits, '-', '_' and '.'"+ends,
		"must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
		"has letters, digits, '-', '_' and '.'"+ends,
	)
	out := make([]string, len(wrong))
	for i, text := range wrong {
		text, _, _ = strings.Cut(text, " (e.g. ")
		out[i] = short.Replace(text)
	}
	return strings.Join(out, "; ")
}
