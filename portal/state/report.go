package state

import (
	"slices"

	"github.com/nestor-tools/nestor/contract"
)

// Status is what becomes of one line.
type Status string

// The statuses.
const (
	OK            Status = "ok"
	Drift         Status = "drift"
	Cohabitation  Status = "cohabitation" // accepted until a day
	NotApplicable Status = "not applicable"
	Unknown       Status = "unknown" // not read
)

// Line is one thing that was looked at.
type Line struct {
	Status  Status
	Subject string
	Text    string
	// Command mends it, or removes it; where none can be given, Remedy says
	// what to do. A cohabitation has neither.
	Command string
	Remedy  string
	Finding *contract.Finding // nil: nothing is to be reported
}

// Group is a part of a report.
type Group struct {
	Name  string
	Lines []Line
}

// Report is the state of a cluster.
type Report struct {
	Groups []Group
	Next   string // what to do next, one sentence
}

// Findings gives what scripts want to know, in the order of the lines.
func (r Report) Findings() []contract.Finding {
	all := []contract.Finding{}
	for _, g := range r.Groups {
		for _, l := range g.Lines {
			if l.Finding != nil {
				all = append(all, *l.Finding)
			}
		}
	}
	return all
}

// Count counts the lines of a status.
func (r Report) Count(s Status) int {
	count := 0
	for _, g := range r.Groups {
		for _, l := range g.Lines {
			if l.Status == s {
				count++
			}
		}
	}
	return count
}

// first finds the first line of a status.
func (r Report) first(s Status) *Line {
	for i := range r.Groups {
		if j := slices.IndexFunc(r.Groups[i].Lines, func(l Line) bool { return l.Status == s }); j >= 0 {
			return &r.Groups[i].Lines[j]
		}
	}
	return nil
}
