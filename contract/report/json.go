package report

import (
	"encoding/json"
	"io"

	"github.com/nestor-tools/nestor/contract"
)

// findingsSchema names the format and its version, in every document.
const findingsSchema = "nestor.findings/v1"

type findingsJSON struct {
	Schema   string             `json:"schema"`
	Findings []contract.Finding `json:"findings"`
	Summary  Summary            `json:"summary"`
}

func writeJSON(w io.Writer, findings []contract.Finding, o Options) error {
	doc := findingsJSON{Schema: findingsSchema, Findings: []contract.Finding{}, Summary: Count(findings)}
	for _, f := range findings {
		f.File = o.file(f.File)
		related := make([]contract.Position, 0, len(f.Related)) // [] in the document, never null
		for _, p := range f.Related {
			p.File = o.file(p.File)
			related = append(related, p)
		}
		f.Related = related
		doc.Findings = append(doc.Findings, f)
	}
	return encode(w, doc)
}

// encode writes one JSON document that people can read too.
func encode(w io.Writer, doc any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}
