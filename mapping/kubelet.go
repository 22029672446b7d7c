package mapping

import (
	"path"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/mapping/cri"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/kubelet"
	"github.com/nestor-tools/nestor/mapping/probe"
)

// Kubelet is the node's kubelet.
type Kubelet struct {
	Running    bool                     `json:"running"`
	Version    Observed[string]         `json:"version"`
	ConfigFile string                   `json:"config_file,omitempty"`
	ConfigMode Observed[string]         `json:"config_mode"` // "600 root"
	Config     Observed[kubelet.Config] `json:"config"`      // flags over drop-ins over the file
}

// kubeletAnswer is what the probe's section on the kubelet comes to.
type kubeletAnswer struct {
	facts        Observed[Kubelet]
	controlPlane Observed[bool]
	socket       string // of the runtime it uses; empty: no kubelet says
	chosenBy     string
	distribution string // k3s or rke2, which bring their own containerd; else empty
}

func readKubelet(out probe.Output) kubeletAnswer {
	section := out.Bytes("kubelet")
	text, ok := section.Get()
	if !ok {
		return kubeletAnswer{
			facts:        Observed[Kubelet]{State: section.State, Why: section.Why},
			controlPlane: Observed[bool]{State: section.State, Why: section.Why},
		}
	}
	var processes, dropins []string
	file, hidden := "", false
	for line := range strings.Lines(string(text)) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch word {
		case "process":
			processes = append(processes, rest)
		case "config":
			file = rest
		case "dropin":
			dropins = append(dropins, rest)
		case "hidden": // /proc is mounted with hidepid
			hidden = true
		}
	}
	a := kubeletAnswer{controlPlane: controlPlane(out, processes, hidden)}
	switch {
	case slices.Contains(processes, "rke2"):
		a.distribution = "rke2"
	case slices.Contains(processes, "k3s-server"), slices.Contains(processes, "k3s-agent"):
		a.distribution = "k3s"
	}
	running := slices.Contains(processes, "kubelet")
	fileFact := out.Bytes("kubelet:" + file)
	version := out.Bytes("kubelet:version")
	switch {
	case running:
	case hidden:
		a.facts = fact.Denied[Kubelet]("other users' processes are hidden from this user")
		return a
	case a.distribution == "k3s":
		a.facts = fact.Unknown[Kubelet]("k3s runs the kubelet within its own process")
		a.socket, a.chosenBy = embeddedSocket, "k3s"
		return a
	case fileFact.State == fact.IsAbsent && version.State != fact.IsPresent:
		a.facts = fact.Absent[Kubelet]("no kubelet runs or is installed")
		return a
	}
	flags := kubelet.ParseFlags(out.Bytes("kubelet:cmdline").Value)
	from := "the kubelet's command line"
	if !running {
		flags, from = kubelet.ParseEnv(out.Bytes("kubelet:/var/lib/kubelet/kubeadm-flags.env").Value), "kubeadm-flags.env"
	}
	if running && flags["config"] == "" { // the default place is not read by a kubelet that was not told to
		file, fileFact = "", fact.Absent[[]byte]("the kubelet was given no configuration file")
	}
	k := Kubelet{
		Running:    running,
		Version:    fact.Then(version, func(b []byte) (string, error) { return cri.ParseVersion(b) }),
		ConfigFile: fact.Text(file),
		ConfigMode: fact.Then(out.Bytes("kubelet:config mode"), func(b []byte) (string, error) { return fact.Text(strings.TrimSpace(string(b))), nil }),
		Config:     mergeConfig(out, fileFact, dropins, flags),
	}
	if file == "" {
		k.ConfigMode = fact.Absent[string]("the kubelet was given no configuration file")
	}
	a.facts = fact.Present(k)
	a.socket, a.chosenBy = endpoint(k.Config, flags, from)
	return a
}

// embeddedSocket is the containerd's of k3s and of rke2.
const embeddedSocket = "/run/k3s/containerd/containerd.sock"

// mergeConfig merges what was read. One file that could not be read makes the
// whole unknown: it may hold anything.
func mergeConfig(out probe.Output, file Observed[[]byte], dropins []string, flags kubelet.Flags) Observed[kubelet.Config] {
	var files []kubelet.File
	sources := []Observed[[]byte]{}
	if file.State != fact.IsAbsent {
		sources = append(sources, file)
	}
	for _, name := range dropins {
		sources = append(sources, out.Bytes("kubelet:"+name))
	}
	for _, source := range sources {
		f := fact.Then(source, kubelet.Parse)
		if f.State != fact.IsPresent {
			return Observed[kubelet.Config]{State: f.State, Why: f.Why}
		}
		files = append(files, f.Value)
	}
	return fact.Present(kubelet.Merge(files, flags))
}

// endpoint is the socket that the kubelet uses, and what says so. A flag is
// enough to know, even where the file may not be read.
func endpoint(config Observed[kubelet.Config], flags kubelet.Flags, from string) (socket, chosenBy string) {
	if flag := flags["container-runtime-endpoint"]; flag != "" {
		return cri.SocketOf(flag), from
	}
	c, ok := config.Get()
	switch {
	case !ok:
		return "", ""
	case c.RuntimeEndpoint != "":
		return cri.SocketOf(c.RuntimeEndpoint), "the kubelet's configuration"
	}
	return "/run/containerd/containerd.sock", "the kubelet's default"
}

// controlPlane is whether the node runs, or is set up to run, an API server.
func controlPlane(out probe.Output, processes []string, hidden bool) Observed[bool] {
	for _, p := range processes {
		if p == "kube-apiserver" || p == "k3s-server" {
			return fact.Present(true)
		}
	}
	manifests := out.Bytes("kubelet:/etc/kubernetes/manifests")
	switch {
	case manifests.State == fact.IsPresent:
		names := strings.Split(string(manifests.Value), "\n")
		return fact.Present(slices.ContainsFunc(names, func(n string) bool {
			return strings.HasPrefix(n, "kube-apiserver") && path.Ext(n) != ".bak"
		}))
	case hidden:
		return fact.Denied[bool]("other users' processes are hidden from this user")
	case manifests.State == fact.IsAbsent:
		return fact.Present(false)
	}
	return Observed[bool]{State: manifests.State, Why: manifests.Why}
}
