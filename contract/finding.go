package contract

import "slices"

// Severity of a finding.
type Severity string

// The severities, worst first.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Position is a place in a file; Line and Column are 1-based, 0 means unknown.
type Position struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// Finding is one thing that is not as promised. It is data, not an error.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	Endpoint string   `json:"endpoint"`
	Message  string   `json:"message"`
	Remedy   string   `json:"remedy"`
	Position
	Related []Position `json:"related"`
}

// Rule documents one rule.
type Rule struct {
	ID, Summary string
	Severity    Severity
	Doc         string // the markdown page
}

// Rules gives every rule, sorted by ID.
func Rules() []Rule {
	all := slices.Clone(rules)
	for i := range all {
		page, err := pages.ReadFile("rules/" + all[i].ID + ".md")
		if err != nil {
			continue // a test reads them all
		}
		all[i].Doc = string(page)
	}
	return all
}
