package object

// Installation is one of linkwright, as its commands name it: by its owner, and the namespace of its record.
type Installation struct{ Owner, Namespace string }

// defaultNamespace is that of the record if a command does not name it.
const defaultNamespace = "linkwright"

// Command is how a command is given for the installation, as messages name it: with the owner and the namespace, unless they are empty, or
// those that every command takes by itself.
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
