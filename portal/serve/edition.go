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

// edition is what is shown of one snapshot and one contract: a view for each
// host by which browsers come, and its page in each language. What has readers
// is made before the edition is published, anything else when it is asked for.
type edition struct {
	salt     []byte
	snapshot *portal.Snapshot
	contract *contract.Contract
	problem  string
	options  portal.Options
	hosts    map[string]bool // those of the nodes, as portal.Host writes them
	earlier  map[string]*shown

	making sync.Mutex // held while anything is made, so that one thing is at a time

	mu    sync.Mutex
	views map[string]*shown // by host; that of "" always is there, and made
}

// shown is a view, and what was made of it.
type shown struct {
	view    portal.View
	entries map[string]*portal.Entry // by id; the first of each
	json    []byte
	tag     string // of all but the time of the observation

	making *sync.Mutex // of the edition
	mu     sync.Mutex
	pages  map[portal.Lang]*page
}

// page is a view in one language, and what the next one is printed with.
type page struct {
	html    []byte
	printer portal.Printer
}

// newEdition makes what a request for no host in particular is answered with,
// in every language; make makes the rest.
func newEdition(salt []byte, snapshot *portal.Snapshot, c *contract.Contract, problem string, options portal.Options, earlier *edition) (*edition, error) {
	e := &edition{salt: salt, snapshot: snapshot, contract: c, problem: problem, options: options, hosts: map[string]bool{}, views: map[string]*shown{}}
	for _, node := range snapshot.Nodes {
		e.know(node.Name)
		for _, address := range node.Addresses {
			e.know(address.Address)
		}
	}
	if earlier != nil {
		e.earlier = earlier.all()
	}
	for _, lang := range portal.Languages() {
		if err := e.make(reader{"", lang}); err != nil {
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

// all gives the views that are made.
func (e *edition) all() map[string]*shown {
	e.mu.Lock()
	defer e.mu.Unlock()
	views := map[string]*shown{}
	for host, s := range e.views {
		views[host] = s
	}
	return views
}

// make makes what a reader is shown, where it is not made yet.
func (e *edition) make(r reader) error {
	s, err := e.to(r.host)
	if err == nil && r.lang != "" {
		_, err = s.page(r.lang)
	}
	return err
}

// host is the host of a view: that of the browser where it is a node's, and
// otherwise "".
func (e *edition) host(asked string) string {
	if cleaned, ok := portal.Host(asked); ok && e.hosts[cleaned] {
		return cleaned
	}
	return ""
}

// to gives what is shown to a browser that came by this host, as host gives it.
func (e *edition) to(host string) (*shown, error) {
	host = e.host(host)
	if s := e.made(host); s != nil {
		return s, nil // those who ask for what is made do not wait for what is not
	}
	e.making.Lock()
	defer e.making.Unlock()
	if s := e.made(host); s != nil {
		return s, nil
	}
	return e.show(host)
}

func (e *edition) made(host string) *shown {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.views[host]
}

// whole is what is shown to no host in particular.
func (e *edition) whole() *shown { return e.made("") }

// show makes the view for a host.
func (e *edition) show(host string) (*shown, error) {
	o := e.options
	o.BrowserHost = host
	before := e.earlier[host]
	if before != nil {
		o.Previous = &before.view
	} else if whole := e.whole(); whole != nil {
		o.Previous = &whole.view
	}
	s := &shown{view: portal.Judge(e.contract, e.snapshot, o), entries: map[string]*portal.Entry{}, making: &e.making, pages: map[portal.Lang]*page{}}
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
	if before != nil {
		s.inherit(before)
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

// inherit takes over what the pages of before were printed with.
func (s *shown) inherit(before *shown) {
	before.mu.Lock()
	defer before.mu.Unlock()
	for lang, p := range before.pages {
		s.pages[lang] = &page{printer: p.printer}
	}
}

// page gives the page in a language.
func (s *shown) page(lang portal.Lang) ([]byte, error) {
	if html := s.printed(lang); html != nil {
		return html, nil
	}
	s.making.Lock()
	defer s.making.Unlock()
	if html := s.printed(lang); html != nil {
		return html, nil
	}
	s.mu.Lock()
	p := page{printer: portal.Printer{Options: portal.PageOptions{Lang: lang, Live: true}}}
	if before := s.pages[lang]; before != nil {
		p.printer = before.printer
	}
	s.mu.Unlock()
	var html bytes.Buffer
	if err := p.printer.Page(&html, &s.view); err != nil {
		return nil, err
	}
	p.html = html.Bytes()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[lang] = &p
	return p.html, nil
}

// printed is the page where it is made.
func (s *shown) printed(lang portal.Lang) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pages[lang]; p != nil {
		return p.html
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
