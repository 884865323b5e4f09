package plan

import "github.com/linkwright/linkwright/object"

// command is how a command of linkwright is given for this installation, as reasons name it.
func (w World) command(words string) string { return w.installation().Command(words) }

func (w World) installation() object.Installation {
	return object.Installation{Owner: w.Owner, Namespace: w.Namespace}
}
