package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/printable"
)

// The types below are the part of SARIF 2.1.0 that is written here. Sections
// are those of https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string       `json:"id"`
		ShortDescription sarifText    `json:"shortDescription"`
		FullDescription  sarifText    `json:"fullDescription"` // GitHub wants all three
		Help             sarifText    `json:"help"`
		Configuration    sarifSetting `json:"defaultConfiguration"`
	}
	sarifSetting struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    *int              `json:"ruleIndex,omitempty"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations,omitempty"`
		Related      []sarifLocation   `json:"relatedLocations,omitempty"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		ID       int           `json:"id,omitempty"`
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"` // absent: the whole file
	}
	sarifArtifact struct {
		URI    string `json:"uri"`
		BaseID string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
)

// sarifBase stands for the root of the sources, wherever the reader has them
// (3.4.4).
const sarifBase = "%SRCROOT%"

func writeSARIF(w io.Writer, findings []contract.Finding, o Options) error {
	run := sarifRun{
		Tool: sarifTool{sarifDriver{
			Name:           "nestor",
			Version:        o.Version,
			InformationURI: "https://github.com/nestor-tools/nestor",
			Rules:          []sarifRule{},
		}},
		ColumnKind: "unicodeCodePoints", // as yaml.v3 counts
		Results:    []sarifResult{},
	}
	for _, r := range o.Rules {
		summary := sarifText{Text: sarifMessage(r.Summary)}
		help := sarifText{Text: sarifMessage(cmp.Or(r.Doc, r.Summary)), Markdown: r.Doc}
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{r.ID, summary, summary, help, sarifSetting{level(r.Severity)}})
	}
	for _, f := range findings {
		result := sarifResult{
			RuleID:       f.Rule,
			Level:        level(f.Severity),
			Message:      sarifText{Text: sarifMessage(withRemedy(f))},
			Fingerprints: map[string]string{"nestorFinding/v1": o.fingerprint(f)},
		}
		if i := slices.IndexFunc(o.Rules, func(r contract.Rule) bool { return r.ID == f.Rule }); i >= 0 {
			result.RuleIndex = &i
		}
		if f.File != "" {
			result.Locations = []sarifLocation{o.sarifLocation(f.Position)}
		}
		for i, p := range f.Related {
			location := o.sarifLocation(p)
			location.ID = i + 1
			result.Related = append(result.Related, location)
		}
		run.Results = append(run.Results, result)
	}
	return encode(w, sarifLog{
		Schema:  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

func (o Options) sarifLocation(p contract.Position) sarifLocation {
	uri := url.URL{Path: o.file(p.File)}
	artifact := sarifArtifact{URI: uri.String(), BaseID: sarifBase}
	if path.IsAbs(uri.Path) {
		uri.Scheme = "file"
		artifact = sarifArtifact{URI: uri.String()}
	}
	location := sarifLocation{Physical: sarifPhysical{Artifact: artifact}}
	if p.Line > 0 {
		location.Physical.Region = &sarifRegion{StartLine: p.Line, StartColumn: p.Column}
	}
	return location
}

// level is a severity's name in SARIF (3.27.10).
func level(s contract.Severity) string {
	if s == contract.Info {
		return "note"
	}
	return string(s)
}

// sarifMessage escapes what SARIF gives a meaning in plain text: placeholders
// (3.11.5) and links (3.11.6), of which a finding holds none on purpose. The
// Markdown of a page stays as it is, since GitHub shows its braces literally.
func sarifMessage(s string) string {
	return strings.NewReplacer("{", "{{", "}", "}}", "](", "] (").Replace(s)
}

// withRemedy is a finding's message and, on a line of its own, its remedy, both
// printable: whoever shows them may obey what a terminal or a browser would.
func withRemedy(f contract.Finding) string {
	if f.Remedy == "" {
		return printable.Line(f.Message)
	}
	return printable.Line(f.Message) + "\nFix: " + printable.Line(f.Remedy)
}

// fingerprint stays the same while lines move above the finding.
func (o Options) fingerprint(f contract.Finding) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{f.Rule, f.Endpoint, o.file(f.File), f.Message}, "\x00")))
	return hex.EncodeToString(sum[:16])
}
