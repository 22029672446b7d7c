package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"
	"time"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/portal"
)

// mostHosts bounds for how many hosts one edition is kept.
const mostHosts = 16

// edition is what is shown of one snapshot and one contract: a view for each
// host by which browsers come, and its page in each language, made when first
// asked for and then kept.
type edition struct {
	salt     []byte
	snapshot *portal.Snapshot
	contract *contract.Contract
	problem  string
	options  portal.Options
	hosts    map[string]bool // those of the nodes, as portal.Host writes them

	making sync.Mutex // held while a view is made, so that one is made at a time

	mu    sync.Mutex
	views map[string]*shown // by host; that of "" always is there
}

// shown is a view, and what was made of it.
type shown struct {
	view    portal.View
	entries map[string]*portal.Entry // by id; the first of each
	json    []byte
	tag     string // of all but the time of the observation

	mu    sync.Mutex
	asked time.Time
	pages map[portal.Lang]*page
}

// page is a view in one language.
type page struct {
	html  []byte
	asked time.Time
}

// newEdition makes the view for no host in particular, and anew what was asked
// for of the earlier edition since a moment.
func newEdition(salt []byte, snapshot *portal.Snapshot, c *contract.Contract, problem string, options portal.Options, earlier *edition, since time.Time) (*edition, error) {
	e := &edition{salt: salt, snapshot: snapshot, contract: c, problem: problem, options: options, hosts: map[string]bool{}, views: map[string]*shown{}}
	for _, node := range snapshot.Nodes {
		e.know(node.Name)
		for _, address := range node.Addresses {
			e.know(address.Address)
		}
	}
	if earlier == nil {
		_, err := e.show("", nil)
		return e, err
	}
	for host, before := range earlier.recent(since) {
		if host != "" && !e.hosts[host] {
			continue
		}
		now, err := e.show(host, &before.view)
		if err != nil {
			return nil, err
		}
		if err := now.print(before, since); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (e *edition) know(name string) {
	if host, ok := portal.Host(name); ok {
		e.hosts[host] = true
	}
}

// recent gives the views that were asked for since then, and that of "".
func (e *edition) recent(since time.Time) map[string]*shown {
	e.mu.Lock()
	defer e.mu.Unlock()
	found := map[string]*shown{}
	for host, s := range e.views {
		s.mu.Lock()
		if host == "" || s.asked.After(since) {
			found[host] = s
		}
		s.mu.Unlock()
	}
	return found
}

// to gives what is shown to a browser that came by this host.
func (e *edition) to(host string, now time.Time) (*shown, error) {
	cleaned, ok := portal.Host(host)
	if !ok || !e.hosts[cleaned] {
		cleaned = ""
	}
	s := e.made(cleaned)
	if s == nil {
		// Those who ask for what is made already do not wait.
		e.making.Lock()
		defer e.making.Unlock()
		if s = e.made(cleaned); s == nil {
			var err error
			if s, err = e.show(cleaned, &e.whole().view); err != nil {
				return nil, err
			}
		}
	}
	s.mu.Lock()
	s.asked = now
	s.mu.Unlock()
	return s, nil
}

func (e *edition) made(host string) *shown {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.views[host]
}

// whole is what is shown to no host in particular.
func (e *edition) whole() *shown { return e.made("") }

// show makes the view for a host.
func (e *edition) show(host string, previous *portal.View) (*shown, error) {
	o := e.options
	o.BrowserHost, o.Previous = host, previous
	s := &shown{view: portal.Judge(e.contract, e.snapshot, o), entries: map[string]*portal.Entry{}, pages: map[portal.Lang]*page{}}
	s.view.ContractProblem = e.problem
	for _, layer := range s.view.Layers {
		for i := range layer.Entries {
			entry := &layer.Entries[i]
			if s.entries[entry.ID] == nil {
				s.entries[entry.ID] = entry
			}
		}
	}
	timeless := s.view
	timeless.ObservedAt = time.Time{}
	content, err := json.Marshal(timeless)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append(content, e.salt...))
	s.tag = hex.EncodeToString(sum[:12])
	if s.json, err = json.Marshal(s.view); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.views) >= mostHosts {
		for other := range e.views {
			if other != "" {
				delete(e.views, other)
				break
			}
		}
	}
	e.views[host] = s
	return s, nil
}

// page gives the page in a language.
func (s *shown) page(lang portal.Lang, now time.Time) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pages[lang]
	if p == nil {
		var html bytes.Buffer
		if err := portal.Page(&html, &s.view, portal.PageOptions{Lang: lang, Live: true}); err != nil {
			return nil, err
		}
		p = &page{html: html.Bytes()}
		s.pages[lang] = p
	}
	p.asked = now
	return p.html, nil
}

// print makes the pages that were asked for of an earlier view since a moment.
func (s *shown) print(earlier *shown, since time.Time) error {
	earlier.mu.Lock()
	s.asked = earlier.asked
	asked := map[portal.Lang]time.Time{}
	for lang, p := range earlier.pages {
		if p.asked.After(since) {
			asked[lang] = p.asked
		}
	}
	earlier.mu.Unlock()
	for lang, when := range asked {
		if _, err := s.page(lang, when); err != nil {
			return err
		}
	}
	return nil
}

// observedAt is the last sign of life of the cluster.
func (s *shown) observedAt() time.Time {
	if s.view.StaleSince != nil {
		return *s.view.StaleSince
	}
	return s.view.ObservedAt
}
