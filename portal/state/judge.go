package state

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/portal"
)

// Options of Judge.
type Options struct {
	Today   time.Time // decides which accept entries are over; zero: none
	Profile string    // the one that runs here; "": every endpoint is expected
}

// Judge compares what runs with what the contract promises and accepts. The
// same arguments give the same report.
func Judge(c *contract.Contract, s *Snapshot, o Options) Report {
	if c == nil {
		c = &contract.Contract{}
	}
	if s == nil {
		s = &Snapshot{}
	}
	j := &judge{contract: c, snapshot: s, options: o, used: map[*contract.Accept]bool{}}

	// An endpoint of another profile promises nothing here: what exposes it
	// all the same is exposed without a promise.
	j.expected = *c
	j.expected.Endpoints = nil
	for _, e := range c.Endpoints {
		if j.expects(e) {
			j.expected.Endpoints = append(j.expected.Endpoints, e)
		}
	}
	j.matching = contract.Match(&j.expected, s.Cluster.World(), o.Today)
	r := Report{Groups: []Group{
		{"Promises", j.promises()},
		{"Ways in", j.waysIn()},
		{"Nothing but node ports", j.residues()},
		{"Cilium's configuration", j.cilium()},
	}}
	if lines := j.unused(); len(lines) > 0 { // last: the others say which are used
		r.Groups = append(r.Groups, Group{"Entries of accept:", lines})
	}
	r.Next = j.next(r)
	return r
}

// judge is one Judge at work.
type judge struct {
	contract *contract.Contract
	expected contract.Contract // of this profile
	snapshot *Snapshot
	options  Options
	matching contract.Matching
	used     map[*contract.Accept]bool
}

func (j *judge) expects(e contract.Endpoint) bool {
	return e.Profil == "" || j.options.Profile == "" || e.Profil == j.options.Profile
}

// source is the state of a source of the cluster.
func (j *judge) source(r portal.Resource) portal.Source {
	source, ok := j.snapshot.Cluster.Sources[r]
	if !ok {
		return portal.Source{State: portal.NotAsked}
	}
	return source
}

// whole tells whether a source can be believed.
func whole(s portal.Source) bool { return s.State == portal.Synced }

// unread is the line for what was not read.
func (j *judge) unread(subject, what string, s portal.Source) Line {
	why := cmp.Or(s.Why, map[portal.SourceState]string{
		portal.NotAsked: "nobody asked for them", portal.Denied: "the API server refuses", portal.Stale: "what is known is old",
	}[s.State], "no whole answer came")
	remedy := "ask again; a part of the cluster is no answer"
	if s.State == portal.Denied {
		remedy = "give the reader the rights that docs/state.md lists"
	}
	l := Line{Status: Unknown, Subject: subject, Remedy: remedy}
	if before, command, ok := strings.Cut(why, addToDump); ok {
		why, l.Command, l.Remedy = before, command, "add what that prints to the dump"
	}
	l.Text = fmt.Sprintf("%s not read: %s", what, why)
	return l.with("state-unread", "", contract.Position{File: j.contract.File})
}

// with gives a line its finding.
func (l Line) with(rule, endpoint string, at contract.Position, related ...contract.Position) Line {
	remedy := l.Remedy
	if l.Command != "" {
		remedy = l.Command
		if l.Remedy != "" {
			remedy += "  (" + l.Remedy + ")"
		}
	}
	f := contract.NewFinding(rule, endpoint, at, l.Text, remedy, related...)
	if l.Subject != "" && endpoint == "" {
		f.Message = l.Subject + ": " + f.Message
	}
	l.Finding = &f
	return l
}

// qualified is namespace/name.
func qualified(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// accepting finds the entry that speaks of something, one that is not over
// first.
func (j *judge) accepting(speaks func(contract.Accept) bool) (entry *contract.Accept, over bool) {
	for i := range j.contract.Accept {
		a := &j.contract.Accept[i]
		if !speaks(*a) {
			continue
		}
		j.used[a] = true
		if !a.Expired(j.options.Today) {
			return a, false
		}
		if entry == nil {
			entry = a
		}
	}
	return entry, entry != nil
}

// speaksOf tells whether an entry names an object.
func speaksOf(kind, namespace, name string) func(contract.Accept) bool {
	return func(a contract.Accept) bool {
		return strings.EqualFold(a.Kind, kind) && a.Name == name && (a.Namespace == namespace || namespace == "")
	}
}

// accepted is the line of what an entry accepts. what is a sentence without
// its end; removal is how it ends once the entry is over.
func (j *judge) accepted(a *contract.Accept, over bool, subject, what, removal string) Line {
	l := Line{Status: OK, Subject: subject, Text: what + ": accepted (" + a.Reason + ")"}
	switch until := a.Until.Format(time.DateOnly); {
	case over:
		l.Status, l.Text, l.Command = Drift, fmt.Sprintf("%s: was accepted until %s (%s)", what, until, a.Reason), removal
		l.Remedy = "then remove the entry; or give it a new date and say why"
		if removal == "" {
			l.Remedy = "end it, " + l.Remedy
		}
		return l.with("accept-expired", "", a.UntilAt)
	case !a.Until.IsZero():
		l.Status, l.Text = Cohabitation, fmt.Sprintf("%s: cohabitation until %s (%s)", what, until, a.Reason)
		return l.with("cohabitation", "", a.At)
	}
	return l
}

// unused gives the entries that accept nothing that runs, where everything
// was read that they could speak of.
func (j *judge) unused() []Line {
	var lines []Line
	for i := range j.contract.Accept {
		a := &j.contract.Accept[i]
		if j.used[a] || !j.looksFor(a.Kind) {
			continue
		}
		l := Line{Status: NotApplicable, Subject: strings.TrimSpace(a.Kind + " " + qualified(a.Namespace, a.Name)), Text: "nothing that runs is covered by this entry",
			Remedy: "remove it, unless the manifests need it"}
		l = l.with("accept-unused", "", a.At)
		l.Finding.Severity = contract.Info
		lines = append(lines, l)
	}
	return lines
}

// looksFor tells whether whatever an entry of that kind covers was read.
func (j *judge) looksFor(kind string) bool {
	switch strings.ToLower(kind) {
	case "nodeport", "loadbalancer", "externalip", "service":
		return whole(j.source(portal.Services))
	case "hostport", "hostnetwork":
		return whole(j.source(portal.Pods))
	}
	for _, f := range Families() {
		if f.Wants(kind) {
			return whole(j.snapshot.Groups[f.Group]) && j.readAll(f)
		}
	}
	return false
}

func (j *judge) readAll(f Family) bool {
	for _, k := range j.snapshot.Kinds {
		if k.Group == f.Group && !whole(k.Source) {
			return false
		}
	}
	return true
}

// next says what to do now.
func (j *judge) next(r Report) string {
	if l := r.first(Unknown); l != nil {
		return "see all of it first: " + l.Remedy
	}
	if n := r.Count(Drift); n > 0 {
		return fmt.Sprintf("mend what drifted (%d), the first line first, in the manifests as well where they say otherwise; then nestor state again", n)
	}
	var last time.Time
	for a := range j.used {
		if !a.Until.IsZero() && (last.IsZero() || a.Until.Before(last)) {
			last = a.Until
		}
	}
	if r.Count(Cohabitation) > 0 {
		return fmt.Sprintf("nestor probe; the cohabitation must end by %s, when it becomes drift", last.Format(time.DateOnly))
	}
	return "nestor probe, to see whether each UI answers"
}
