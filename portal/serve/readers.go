package serve

import (
	"sync"
	"time"

	"github.com/nestor-tools/nestor/portal"
)

// mostHosts bounds for how many hosts one edition is kept.
const mostHosts = 16

// reader is whoever is shown the same: those who came by one host and read one
// language; "" is that of programs.
type reader struct {
	host string
	lang portal.Lang
}

// readers remembers who reads, so that a new edition is made for them before
// they ask for it.
type readers struct {
	mu   sync.Mutex
	last map[reader]time.Time
}

// saw remembers a reader; the one that was away for the longest makes room.
func (r *readers) saw(who reader, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		r.last = map[reader]time.Time{}
	}
	if _, known := r.last[who]; !known && len(r.last) >= mostHosts {
		oldest := who
		for other, at := range r.last {
			if oldest == who || at.Before(r.last[oldest]) {
				oldest = other
			}
		}
		delete(r.last, oldest)
	}
	r.last[who] = now
}

// since gives those who have read since then, and forgets the others.
func (r *readers) since(then time.Time) []reader {
	r.mu.Lock()
	defer r.mu.Unlock()
	var some []reader
	for who, at := range r.last {
		if at.Before(then) {
			delete(r.last, who)
			continue
		}
		some = append(some, who)
	}
	return some
}
