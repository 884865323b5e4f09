package reason

// Codes of a request that an API server refuses.
const (
	NotFound        Code = "NotFound"
	Conflict        Code = "Conflict"
	Throttled       Code = "Throttled"
	Unavailable     Code = "Unavailable"
	Canceled        Code = "Canceled"
	Invalid         Code = "Invalid"
	AdmissionDenied Code = "AdmissionDenied"
	ImmutableField  Code = "ImmutableField"
	ListKeyConflict Code = "ListKeyConflict"
	Contested       Code = "Contested"
	NotCompared     Code = "NotCompared"
	Unknown         Code = "Unknown"
)

func requests() Group {
	return Group{Title: "An API server refuses a request", Entries: []Entry{
		{
			Code:    NotFound,
			Meaning: "The object is gone.",
			Remedy:  "Nothing: linkwright reads and plans again.",
		},
		{
			Code:    Conflict,
			Meaning: "The object changed after linkwright read it.",
			Remedy:  "Nothing: linkwright reads and plans again.",
		},
		{
			Code:    Throttled,
			Meaning: "The API server limits linkwright's requests.",
			Remedy:  "Nothing: linkwright waits as long as the API server asks. If it lasts, check API priority and fairness there.",
		},
		{
			Code:    Unavailable,
			Meaning: "The API server cannot answer now.",
			Remedy:  "Nothing: linkwright repeats the request. If it lasts, check the API server.",
		},
		{
			Code:    Canceled,
			Meaning: "The request was given up: linkwright stops, or its deadline passed.",
			Remedy:  "Nothing: the next sync repeats it.",
		},
		{
			Code:    Invalid,
			Meaning: "A write failed, because the API server finds an object or an address invalid. The message names the field.",
			Remedy:  "Correct the field in the declaration or the overlay. Please report it if linkwright itself renders the field.",
		},
		{
			Code:    AdmissionDenied,
			Meaning: "An admission policy or webhook of the cluster denies a write.",
			Remedy:  "Correct what the message names. If it is linkwright's own policy: `linkwright cluster add NAME PATH --context CONTEXT`.",
		},
		{
			Code: ImmutableField,
			Meaning: "The API server refuses to change a field. linkwright replaces only bindings, Secrets of another type, and the " +
				"kinds in `spec.replace` of the SyncPolicy.",
			Remedy: "Declare the former value, or delete the object: linkwright creates it again. Or name the kind in " +
				"`spec.replace`.",
		},
		{
			Code: ListKeyConflict,
			Meaning: "Somebody changed the key of a list item, such as the port of a Service. Now that item collides with " +
				"linkwright's. The message names the field and the managers.",
			Remedy: "Remove the item, or delete the object: linkwright creates it again. Or name the kind in `spec.replace`.",
		},
		{
			Code:    Contested,
			Meaning: "Somebody changes an object as often as linkwright corrects it.",
			Remedy:  "Find out who else manages the objects in the message. Leave them a field with `spec.ignore`.",
		},
		{
			Code:    NotCompared,
			Meaning: "`rollout status`: nothing shows which proxy would replace that of a pod.",
			Remedy:  "See the message. A pod that is created again gets the current proxy.",
		},
		{
			Code:    Unknown,
			Meaning: "linkwright does not know enough to decide: something was not read, or an error has no known cause.",
			Remedy:  "See the message, and the reason of the cluster that it names.",
		},
	}}
}
