package reason

// Codes of writes: why an object is written.
const (
	Missing     Code = "Missing"
	Drift       Code = "Drift"
	Changed     Code = "Changed"
	Recorded    Code = "Recorded"
	Record      Code = "Record"
	Decided     Code = "Decided"
	Swept       Code = "Swept"
	Released    Code = "Released"
	Undeclared  Code = "Undeclared"
	Conditions  Code = "Conditions"
	Credentials Code = "Credentials"
	Excluded    Code = "Excluded"
	Declared    Code = "Declared"
	Adopted     Code = "Adopted"
	Facts       Code = "Facts"
)

// changes are the entries of those. Nothing is to be done.
func changes() []Entry {
	return []Entry{
		{
			Codes:   []Code{Missing},
			Meaning: "an object is declared, and not there",
		},
		{
			Codes:   []Code{Drift},
			Meaning: "somebody changed fields that linkwright applied",
		},
		{
			Codes:   []Code{Changed},
			Meaning: "something else is declared, or a cluster shows other facts",
		},
		{
			Codes:   []Code{Recorded},
			Meaning: "an inventory says what an end may hold before it is written",
		},
		{
			Codes:   []Code{Record},
			Meaning: "the record of clusters changes",
		},
		{
			Codes:   []Code{Decided},
			Meaning: "somebody recorded a decision",
		},
		{
			Codes:   []Code{Swept},
			Meaning: "Linkerd's controller left an object of a link that is gone",
		},
		{
			Codes:   []Code{Released},
			Meaning: "the link's controller is declared `External`, so its objects are given up",
		},
		{
			Codes:   []Code{Undeclared},
			Meaning: "an object is declared no more",
		},
		{
			Codes:   []Code{Conditions},
			Meaning: "the conditions of a link changed",
		},
		{
			Codes:   []Code{Credentials},
			Meaning: "the control plane of Linkerd is told of a credential that changed",
		},
		{
			Codes:   []Code{Excluded},
			Meaning: "a field is left to others",
		},
		{
			Codes:   []Code{Declared},
			Meaning: "it is declared so",
		},
		{
			Codes:   []Code{Adopted},
			Meaning: "`linkwright adopt` takes an object over",
		},
		{
			Codes:   []Code{Facts},
			Meaning: "a cluster shows other facts of itself, such as its gateway, and nothing else changed",
		},
	}
}
