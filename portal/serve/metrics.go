package serve

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/nestor-tools/nestor/portal"
)

// The metrics of what is shown are made when they are asked for, from the same
// edition as the page.
var (
	descEndpoint = prometheus.NewDesc("nestor_portal_endpoint", "1 for the present verdict on an endpoint of the contract.", []string{"id", "layer", "verdict", "reason"}, nil)
	descExtras   = prometheus.NewDesc("nestor_portal_extras", "Exposures that the contract does not promise.", nil, nil)
	descAge      = prometheus.NewDesc("nestor_portal_snapshot_age_seconds", "Time since the cluster last gave a sign of life.", nil, nil)
	descSource   = prometheus.NewDesc("nestor_portal_source_state", "1 for the present state of a resource: synced, stale, denied or unsynced.", []string{"resource", "state"}, nil)
	descErrors   = prometheus.NewDesc("nestor_portal_watch_errors_total", "Requests to the API server and watches that failed.", []string{"resource"}, nil)
	descSecrets  = prometheus.NewDesc("nestor_portal_secrets_readable", "1 where the portal could read Secrets, which it should not; absent where that is not known.", nil, nil)
	descFaulty   = prometheus.NewDesc("nestor_portal_contract_faulty", "1 where the contract's file has a fault, and an earlier one or only a part of it is shown.", nil, nil)
	descReloads  = prometheus.NewDesc("nestor_portal_contract_reloads_total", "Changes of the contract's file, by whether the new one was taken.", []string{"outcome"}, nil)
	descOpen     = prometheus.NewDesc("nestor_portal_connections", "Open connections.", nil, nil)
	descClosed   = prometheus.NewDesc("nestor_portal_connections_closed_total", "Idle connections closed to make room for others.", nil, nil)
)

// collector is a Server as Prometheus sees it.
type collector struct{ *Server }

func (collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descEndpoint, descExtras, descAge, descSource, descErrors, descSecrets, descFaulty, descReloads, descOpen, descClosed} {
		ch <- d
	}
}

func (c collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	counter := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
	}
	e := c.edition.Load()
	s := e.whole()
	extras := 0
	for _, layer := range s.view.Layers {
		for i := range layer.Entries {
			switch entry := &layer.Entries[i]; {
			case layer.Name == portal.ExtraLayer:
				extras++
			case layer.Name != portal.SystemLayer && s.entries[entry.ID] == entry: // an id twice would spoil all metrics
				gauge(descEndpoint, 1, label(entry.ID), label(layer.Name), string(entry.Verdict), string(entry.Reason))
			}
		}
	}
	gauge(descExtras, float64(extras))
	gauge(descAge, max(0, time.Since(s.observedAt()).Seconds()))
	for resource, source := range e.snapshot.Sources {
		gauge(descSource, 1, string(resource), string(source.State))
	}
	for resource, count := range c.options.Cluster.Errors() {
		counter(descErrors, float64(count), string(resource))
	}
	if readable := e.snapshot.SecretsReadable; readable != nil {
		gauge(descSecrets, truth(*readable))
	}
	gauge(descFaulty, truth(e.problem != ""))
	reloads, broken := c.options.Contract.counts()
	counter(descReloads, float64(reloads), "taken")
	counter(descReloads, float64(broken), "refused")
	open, closed := c.connections.counts()
	gauge(descOpen, float64(open))
	counter(descClosed, float64(closed))
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func label(s string) string { return strings.ToValidUTF8(s, "?") }

// registry is one server's own, so that two can live in a process.
func (s *Server) registry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	s.requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "nestor_portal_http_requests_total", Help: "Requests answered, by route and status code.",
	}, []string{"route", "code"})
	r.MustRegister(collector{s}, s.requests, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}
