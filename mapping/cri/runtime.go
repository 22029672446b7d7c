package cri

import "strings"

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
