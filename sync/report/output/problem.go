package output

// ProblemList is the answer of "validate".
type ProblemList struct {
	TypeMeta
	// Valid is true if no problem is an error.
	Valid bool `json:"valid"`
	// Strict is true if warnings count as errors.
	Strict bool `json:"strict"`
	// Clusters is how many clusters are declared. It is absent if an error keeps it from being known.
	Clusters *int `json:"clusters,omitempty"`
	// Links is how many links are declared. It is absent if an error keeps it from being known.
	Links *int `json:"links,omitempty"`
	// Errors is how many problems are errors.
	Errors int `json:"errors"`
	// Warnings is how many problems are warnings.
	Warnings int `json:"warnings"`
	// Items are sorted by file, line and column.
	Items []Problem `json:"items"`
}

// Problem is one problem of the declarations.
type Problem struct {
	// Severity is error or warning.
	Severity string `json:"severity" jsonschema:"enum=error,enum=warning"`
	Place
	// Code names the kind of the problem. Of an error without a kind of its own it is InvalidDeclarations. It is empty only if the problem counts
	// further warnings.
	Code string `json:"code"`
	// Message says what is wrong.
	Message string `json:"message"`
	// Hint says what you can do.
	Hint string `json:"hint"`
	// See is another place that the problem is about, such as the first of two equal names.
	See *Place `json:"see,omitempty"`
}

// Place is a place in a file.
type Place struct {
	// File is the path of the file. It is empty if it is not known.
	File string `json:"file"`
	// Line counts from 1. It is 0 if it is not known.
	Line int `json:"line"`
	// Column counts characters from 1. It is 0 if it is not known.
	Column int `json:"column"`
}

// Check is the answer of "check". Beside apiVersion and kind, it is what "linkerd check" reads of an extension.
type Check struct {
	TypeMeta
	// Success is true if no check is an error.
	Success bool `json:"success"`
	// Categories are the checks of the installation, of each cluster and of each link.
	Categories []CheckCategory `json:"categories"`
}

// CheckCategory is the checks of the installation, of one cluster or of one link.
type CheckCategory struct {
	// CategoryName is linkwright, or linkwright with the name of the cluster or the link.
	CategoryName string `json:"categoryName"`
	// Checks are in order.
	Checks []OneCheck `json:"checks"`
}

// OneCheck is one check.
type OneCheck struct {
	// Description says what is checked.
	Description string `json:"description"`
	// Hint is a page that explains the check.
	Hint string `json:"hint,omitempty"`
	// Error says what is wrong, also of a warning.
	Error string `json:"error,omitempty"`
	// Result is success, warning or error.
	Result string `json:"result" jsonschema:"enum=success,enum=warning,enum=error"`
}
