package reason

// Codes of writes: why an object is written.
const (
	Missing            Code = "Missing"
	Drift              Code = "Drift"
	Changed            Code = "Changed"
	FactsChanged       Code = "FactsChanged"
	Undeclared         Code = "Undeclared"
	Declared           Code = "Declared"
	InventoryUpdated   Code = "InventoryUpdated"
	RecordUpdated      Code = "RecordUpdated"
	DecisionRecorded   Code = "DecisionRecorded"
	ConditionsChanged  Code = "ConditionsChanged"
	CredentialsChanged Code = "CredentialsChanged"
	LeftByController   Code = "LeftByController"
	Released           Code = "Released"
	Adopted            Code = "Adopted"
)

func writes() Group {
	return Group{Title: "Why linkwright writes an object", Entries: []Entry{
		{Code: Missing, Meaning: "The object is declared and does not exist."},
		{Code: Drift, Meaning: "Somebody changed fields that linkwright applied."},
		{Code: Changed, Meaning: "The declaration changed, or a cluster's facts."},
		{Code: FactsChanged, Meaning: "Only a cluster's facts changed, such as its gateway."},
		{Code: Undeclared, Meaning: "The object is not declared any more."},
		{Code: Declared, Meaning: "The object is to be as declared."},
		{Code: InventoryUpdated, Meaning: "An inventory records what an end may hold before it is written."},
		{Code: RecordUpdated, Meaning: "The record of clusters changed."},
		{Code: DecisionRecorded, Meaning: "Somebody recorded a decision."},
		{Code: ConditionsChanged, Meaning: "The conditions of a link changed."},
		{Code: CredentialsChanged, Meaning: "Linkerd's destination controller restarts, because a credential changed."},
		{Code: LeftByController, Meaning: "Linkerd's controller left an object of a removed link."},
		{Code: Released, Meaning: "linkwright gave up the object, or the link, and its objects stay: because of `linkwright release`, or because the link's controller is `External`."},
		{Code: Adopted, Meaning: "`linkwright adopt` takes the object over, and the next sync applies it as declared."},
	}}
}
