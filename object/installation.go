package object

// Installation is an installation of linkwright: its owner, and the namespace of its record.
type Installation struct{ Owner, Namespace string }

// defaultNamespace is that of the record if a command does not name it.
const defaultNamespace = "linkwright"

// Command is a command for the installation, for messages: with owner and namespace, unless they are empty or the defaults.
func (i Installation) Command(words string) string {
	if i.Owner != "" && i.Owner != DefaultOwner {
		words += " --owner " + i.Owner
	}
	if i.Namespace != "" && i.Namespace != defaultNamespace {
		words += " --namespace " + i.Namespace
	}
	return "linkwright " + words
}

// Grant is the command that grants what the declarations need, in all their clusters.
func (i Installation) Grant() string { return i.Command("cluster add --all PATH") }
