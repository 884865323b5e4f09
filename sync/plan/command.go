package plan

import "github.com/linkwright/linkwright/object"

// command is how a command of linkwright is given for this installation, as reasons name it: with its owner and the namespace of its record,
// unless they are those that every command takes by itself.
func (w World) command(words string) string {
	const usual = "linkwright"
	if w.Owner != "" && w.Owner != object.DefaultOwner {
		words += " --owner " + w.Owner
	}
	if w.Namespace != "" && w.Namespace != usual {
		words += " --namespace " + w.Namespace
	}
	return "linkwright " + words
}
