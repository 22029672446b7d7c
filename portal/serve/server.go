package serve

import (
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nestor-tools/nestor/portal"
)

// Cluster is what an observe.Observer is to a server.
type Cluster interface {
	Snapshot() *portal.Snapshot
	Changed() <-chan struct{}
	Settled() <-chan struct{}
	Errors() map[portal.Resource]uint64
}

// Options of a server. Cluster and Contract are needed.
type Options struct {
	Cluster  Cluster
	Contract *Contract
	// AccessHosts and Profile are as in portal.Options.
	AccessHosts map[string]string
	Profile     string
	// AllowHosts are names that the portal is reached by, beside those of
	// nodes and those of AccessHosts.
	AllowHosts []string
	Logger     *slog.Logger // nil: nothing is logged
}

const (
	pollContract = 2 * time.Second
	// spacing is the least time between two editions, whatever the cluster
	// does; with the observer's own wait it is far below the second after
	// which pages ask again.
	spacing = 250 * time.Millisecond
	// kept is how long after its last reader a page is made anew before it is
	// asked for. Pages without a script ask twice a minute.
	kept = 2 * time.Minute
	// stopping is how long requests under way have when the server stops.
	stopping        = 5 * time.Second
	mostConnections = 1024
)

// Server shows a cluster.
type Server struct {
	options     Options
	allowed     map[string]bool
	salt        []byte // of tags: what this build makes of nothing
	edition     atomic.Pointer[edition]
	readers     readers
	ready       atomic.Bool
	requests    *prometheus.CounterVec
	connections *connections
	handler     http.Handler
	log         *slog.Logger
}

// New prepares a server; nothing listens before Run.
func New(o Options) (*Server, error) {
	if o.Cluster == nil || o.Contract == nil {
		return nil, errors.New("a server needs a cluster and a contract")
	}
	s := &Server{options: o, allowed: map[string]bool{}, log: o.Logger, connections: &connections{most: mostConnections, open: map[net.Conn]*list.Element{}}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	for _, name := range o.AllowHosts {
		host, ok := portal.Host(name)
		if !ok {
			return nil, errors.New("the host " + name + " is neither a name nor an address that browsers can come by")
		}
		s.allowed[host] = true
	}
	for _, name := range o.AccessHosts {
		if host, ok := portal.Host(name); ok {
			s.allowed[host] = true
		}
	}
	salt := sha256.New()
	for _, lang := range portal.Languages() {
		if err := portal.Page(salt, &portal.View{}, portal.PageOptions{Lang: lang, Inline: true}); err != nil {
			return nil, err
		}
	}
	s.salt = salt.Sum(nil)
	if err := s.publish(); err != nil {
		return nil, err
	}
	s.handler = s.routes()
	return s, nil
}

// Handler is what answers the requests; what it shows changes while Run runs.
func (s *Server) Handler() http.Handler { return s.handler }

// Run serves on the listener until ctx is over, and then ends all that it
// started; the listener is closed. Requests under way are answered.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { s.follow(ctx) })
	defer all.Wait()
	defer cancel()

	server := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       75 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ConnState:         s.connections.state,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.log.Info("stopping")
	grace, cancelGrace := context.WithTimeout(context.WithoutCancel(ctx), stopping)
	defer cancelGrace()
	err := server.Shutdown(grace)
	if err != nil {
		err = server.Close()
	}
	<-ended
	return err
}

// follow makes a new edition whenever the cluster or the contract changes.
func (s *Server) follow(ctx context.Context) {
	poll := time.NewTicker(pollContract)
	defer poll.Stop()
	settled := s.options.Cluster.Settled()
	for {
		changed := s.options.Cluster.Changed()
		if err := s.publish(); err != nil {
			s.log.Error("the page could not be made; the one of before is shown", "error", err)
		}
		if settled == nil {
			s.ready.Store(true)
		}
		wait := time.NewTimer(spacing)
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
		for again := false; !again; {
			select {
			case <-ctx.Done():
				return
			case <-settled:
				settled, again = nil, true
			case <-changed:
				again = true
			case <-poll.C:
				again = s.reload()
			}
		}
	}
}

func (s *Server) reload() bool {
	if !s.options.Contract.Reload() {
		return false
	}
	present, problem := s.options.Contract.Present()
	if problem != "" {
		s.log.Error("the contract is faulty; the one of before is shown", "problem", problem)
	} else {
		s.log.Info("the contract was read anew", "endpoints", len(present.Endpoints))
	}
	return true
}

// publish makes an edition of the present snapshot and contract. It survives
// data that nobody thought of: a page that is old is better than none.
func (s *Server) publish() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("judge the cluster: %v", p)
		}
	}()
	now := time.Now()
	present, problem := s.options.Contract.Present()
	earlier := s.edition.Load()
	e, err := newEdition(s.salt, s.options.Cluster.Snapshot(), present, problem, portal.Options{
		Today: now, Profile: s.options.Profile, AccessHosts: s.options.AccessHosts,
	}, earlier)
	if err != nil {
		return err
	}
	// Twice, for those who came meanwhile: they were shown the one of before.
	for range 2 {
		for _, who := range s.readers.since(now.Add(-kept)) {
			if err := e.make(who); err != nil {
				return err
			}
		}
	}
	e.earlier = nil // one of before is enough
	s.edition.Store(e)
	if earlier != nil {
		s.tell(earlier.snapshot, e.snapshot)
	}
	return nil
}

// tell logs how far the cluster can be read, where that has changed.
func (s *Server) tell(before, now *portal.Snapshot) {
	for _, resource := range []portal.Resource{portal.Services, portal.EndpointSlices, portal.Nodes, portal.Pods} {
		if is, was := now.Sources[resource], before.Sources[resource]; is.State != was.State {
			s.log.Info("how far a resource can be read has changed", "resource", resource, "state", is.State, "was", was.State, "why", is.Why)
		}
	}
	if now.SecretsReadable != nil && *now.SecretsReadable && (before.SecretsReadable == nil || !*before.SecretsReadable) {
		s.log.Warn("this portal could read Secrets, and should not: take that right from its ServiceAccount")
	}
}

// knows tells whether a name is one that this portal is reached by.
func (s *Server) knows(host string) bool {
	cleaned, ok := portal.Host(host)
	return ok && (s.allowed[cleaned] || s.edition.Load().hosts[cleaned])
}

// routeOf names the route of an answered request for the metrics.
func routeOf(r *http.Request) string {
	if r.Pattern == "" || slices.Contains([]string{"/", "GET /"}, r.Pattern) {
		return "other"
	}
	return r.Pattern
}
