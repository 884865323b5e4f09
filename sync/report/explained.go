package report

import (
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report/output"
)

// Words explain the statuses that are no reasons, too, and what else a row about a link shows.
func Words() []reason.Entry {
	return []reason.Entry{
		{Code: reason.Code(Stalled), Meaning: "A write failed, or all is as declared and the link does not work.", Remedy: "Explain the reason that the message names."},
		{
			Code: reason.Code(Blocked), Meaning: "The link cannot be rendered or written; what it has stays.",
			Remedy: "Explain the reason that the message names.",
		},
		{Code: reason.Code(RecordedEnd), Meaning: "An inventory in the cluster lists the objects of this end of the link."},
		{Code: reason.Code(AbsentEnd), Meaning: "The cluster was read, and no inventory there lists this end of the link."},
		{Code: "Base", Meaning: baseMeaning},
		{
			Code: output.Observed, Meaning: "The revision that Git had last, if it is not applied.",
			Remedy: "Explain the reason that the message names.",
		},
		{Code: output.Superseded, Meaning: "A revision that a cluster still carries, though another one is applied.", Remedy: "linkwright brings the cluster to the applied revision with the next sync that can write there."},
		{Code: object.Reconciling, Meaning: "A condition of a link that is not `Ready` yet: linkwright has something to write, or waits for something that happens by itself."},
	}
}
