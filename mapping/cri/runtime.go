package cri

import (
	"strings"

	"github.com/nestor-tools/nestor/mapping/fact"
)

// Runtime is the container runtime that the node's kubelet uses.
type Runtime struct {
	Name     string                `json:"name"` // containerd, cri-o, ...; empty: a socket that nestor does not know
	Version  fact.Observed[string] `json:"version"`
	Socket   string                `json:"socket"`
	ChosenBy string                `json:"chosen_by"`        // what says that it is the one
	Others   []string              `json:"others,omitempty"` // further sockets on the node
}

// EmbeddedIn names the distribution that brings its own containerd, by the
// socket; "" for a runtime of its own.
func EmbeddedIn(socket string) string {
	if strings.HasPrefix(socket, "/run/k3s/") {
		return "k3s"
	}
	return ""
}

// NameOf tells the runtime behind a socket by its path.
func NameOf(socket string) string {
	switch {
	case strings.HasSuffix(socket, "/containerd.sock"):
		return "containerd"
	case strings.HasSuffix(socket, "/crio.sock"):
		return "cri-o"
	case strings.HasSuffix(socket, "/cri-dockerd.sock"):
		return "cri-dockerd"
	}
	return ""
}

// SocketOf gives the path of an endpoint as the kubelet takes it:
// "unix:///run/crio/crio.sock", or the path alone. /var/run is /run.
func SocketOf(endpoint string) string {
	path := strings.TrimPrefix(endpoint, "unix://")
	if rest, ok := strings.CutPrefix(path, "/var/run/"); ok {
		path = "/run/" + rest
	}
	return path
}
