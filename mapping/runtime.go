package mapping

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/mapping/cni"
	"github.com/nestor-tools/nestor/mapping/containerd"
	"github.com/nestor-tools/nestor/mapping/cri"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/probe"
	"github.com/nestor-tools/nestor/mapping/registries"
)

// Runtime is the container runtime that the node's kubelet uses.
type Runtime struct {
	Name         string           `json:"name"` // containerd, cri-o, ...; empty: a socket that nestor does not know
	Version      Observed[string] `json:"version"`
	EmbeddedIn   string           `json:"embedded_in,omitempty"` // k3s or rke2, with its version: it brings the runtime
	Socket       string           `json:"socket"`
	ChosenBy     string           `json:"chosen_by"`        // what says that it is the one
	Others       []string         `json:"others,omitempty"` // further sockets on the node
	CgroupDriver Observed[string] `json:"cgroup_driver"`    // systemd or cgroupfs
	// Disagreement is set when the kubelet's cgroup driver is another: pods
	// then fail under memory pressure, or at once.
	Disagreement string           `json:"disagreement,omitempty"`
	Mirrors      Observed[Mirror] `json:"mirrors"`
}

// Mirror is the registries that images are fetched from in place of another,
// by the name of that other.
type Mirror map[string][]string

// findRuntime finds the runtime that the kubelet uses. Without a kubelet's
// word the only socket is taken; of several none is.
func findRuntime(out probe.Output, kube kubeletAnswer) Observed[Runtime] {
	section := out.Bytes("cri")
	b, ok := section.Get()
	if !ok {
		return Observed[Runtime]{State: section.State, Why: section.Why}
	}
	sockets := strings.Fields(string(b))
	r := Runtime{Socket: kube.socket, ChosenBy: kube.chosenBy}
	if r.Socket == "" {
		// Docker's own socket speaks no CRI; the containerd below it does.
		candidates := slices.DeleteFunc(slices.Clone(sockets), func(s string) bool { return cri.NameOf(s) == "" })
		switch len(candidates) {
		case 0:
			return fact.Absent[Runtime]("no socket of a container runtime, and no kubelet that names one")
		case 1:
			r.Socket, r.ChosenBy = candidates[0], "the only socket"
		default:
			return fact.Unknown[Runtime]("no kubelet says which it uses of " + strings.Join(candidates, ", "))
		}
	}
	r.Others = slices.DeleteFunc(sockets, func(s string) bool { return s == r.Socket })
	slices.Sort(r.Others)
	if r.Socket == embeddedSocket {
		r.EmbeddedIn = cmp.Or(kube.distribution, "k3s")
	}
	version := runtimeVersion(out, r)
	r.Name = cmp.Or(version.Value.Name, cri.NameOf(r.Socket))
	r.Version = fact.Then(version, func(v cri.Version) (string, error) { return v.Raw, nil })
	r.CgroupDriver = cgroupDriver(out, r)
	r.Mirrors = mirrors(out, r)
	if raw := fact.Then(out.Bytes("cri:"+r.EmbeddedIn), cri.ParseVersion); r.EmbeddedIn != "" && raw.State == fact.IsPresent {
		r.EmbeddedIn += " " + raw.Value
	}
	if k, ok := kube.facts.Value.Config.Get(); ok && kube.facts.State == fact.IsPresent && r.CgroupDriver.State == fact.IsPresent && k.CgroupDriver != r.CgroupDriver.Value {
		r.Disagreement = "the kubelet's cgroup driver is " + k.CgroupDriver + ", the runtime's is " + r.CgroupDriver.Value
	}
	return fact.Present(r)
}

// runtimeVersion asks the runtime itself, through crictl; else the binary,
// which may be newer than what runs.
func runtimeVersion(out probe.Output, r Runtime) Observed[cri.Version] {
	answer := fact.Then(out.Bytes("cri:crictl "+r.Socket), cri.Parse)
	name := cri.NameOf(r.Socket)
	tool := map[string]string{"containerd": "containerd", "cri-o": "crio", "cri-dockerd": "cri-dockerd"}[name]
	if answer.State == fact.IsPresent || r.EmbeddedIn != "" || tool == "" { // the binary of k3s has a version of its own
		return answer
	}
	return fact.Then(out.Bytes("cri:"+tool), func(b []byte) (cri.Version, error) {
		raw, err := cri.ParseVersion(b)
		return cri.Version{Name: name, Raw: raw}, err
	})
}

// cgroupDriver asks the runtime itself (containerd 2.0, CRI-O 1.28), else its
// configuration.
func cgroupDriver(out probe.Output, r Runtime) Observed[string] {
	if answer := fact.Then(out.Bytes("cri:driver "+r.Socket), cri.ParseDriver); answer.State == fact.IsPresent {
		return answer
	}
	switch r.Name {
	case "containerd":
		return fact.Then(containerdConfig(out, r), func(c containerd.Config) (string, error) {
			switch {
			case c.SystemdCgroup == nil:
				return "", errors.New("containerd's configuration does not set it; containerd then chooses for itself")
			case *c.SystemdCgroup:
				return "systemd", nil
			}
			return "cgroupfs", nil
		})
	case "cri-o":
		return fact.Then(crioSetting(out, "cgroup_manager"), func(v string) (string, error) { return cmp.Or(v, "systemd"), nil }) // CRI-O's default
	}
	return fact.Unknown[string]("nestor does not know where this runtime keeps it")
}

func containerdConfig(out probe.Output, r Runtime) Observed[containerd.Config] {
	frame := "cri:containerd config"
	if distribution, _, _ := strings.Cut(r.EmbeddedIn, " "); distribution != "" {
		frame = "cri:/var/lib/rancher/" + distribution + "/agent/etc/containerd/config.toml"
	}
	return fact.Then(out.Bytes(frame), containerd.Parse)
}

// crioSetting is a setting of CRI-O's that differs from its default, "" for
// one that does not.
func crioSetting(out probe.Output, key string) Observed[string] {
	frame, _ := out.Frame("cri:crio config")
	if frame.Status == "1" && len(frame.Stdout) == 0 && len(frame.Stderr) == 0 {
		return fact.Present("") // grep found none of the settings
	}
	return fact.Then(out.Bytes("cri:crio config"), func(b []byte) (string, error) {
		for line := range strings.Lines(string(b)) {
			if name, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(name) == key {
				return strings.Trim(strings.TrimSpace(value), `"`), nil
			}
		}
		return "", nil
	})
}

// mirrors are those that the runtime's own configuration names.
func mirrors(out probe.Output, r Runtime) Observed[Mirror] {
	switch r.Name {
	case "containerd":
		return containerdMirrors(out, r)
	case "cri-o":
		return crioMirrors(out)
	}
	return fact.Unknown[Mirror]("nestor reads the mirrors of containerd and CRI-O")
}

// containerdMirrors are those of containerd's configuration and of the
// hosts.toml files in the folder that it names.
func containerdMirrors(out probe.Output, r Runtime) Observed[Mirror] {
	return fact.Then(containerdConfig(out, r), func(c containerd.Config) (Mirror, error) {
		m := Mirror{}
		for registry, urls := range c.Mirrors {
			m[registry] = urls
		}
		for _, f := range out.Items("cri") {
			folder, name := path.Split(f.Name)
			if name != "hosts.toml" || !strings.HasPrefix(c.RegistryPath, "/etc/containerd/certs.d") {
				continue
			}
			urls, err := containerd.ParseHosts(f.Stdout)
			if err != nil {
				return nil, err
			}
			if registry := path.Base(folder); len(urls) > 0 {
				m[registry] = urls
			}
		}
		return m, nil
	})
}

// crioMirrors are those of registries.conf and its drop-ins, which CRI-O's
// image library reads. One that could not be read may hold anything.
func crioMirrors(out probe.Output) Observed[Mirror] {
	const file, folder = "/etc/containers/registries.conf", "/etc/containers/registries.conf.d"
	main := out.Bytes("cri:" + file)
	sources := []Observed[[]byte]{main}
	if main.State == fact.IsAbsent {
		sources = nil
	}
	for _, f := range out.Items("cri") { // in the order of their names
		if strings.HasPrefix(f.Name, folder) {
			sources = append(sources, f.Bytes())
		}
	}
	var all []registries.Registry
	for _, source := range sources {
		read := fact.Then(source, registries.Parse)
		if read.State != fact.IsPresent {
			return Observed[Mirror]{State: read.State, Why: read.Why}
		}
		all = registries.Merge(all, read.Value)
	}
	m := Mirror{}
	for _, r := range all {
		if len(r.Mirrors) > 0 {
			m[r.Prefix] = r.Mirrors
		}
	}
	return fact.Present(m)
}

// cniFact says what the runtime loads from its folder.
func cniFact(out probe.Output, runtime Observed[Runtime]) Observed[cni.Selection] {
	r := runtime.Value
	folder := "/etc/cni/net.d"
	if strings.HasPrefix(r.EmbeddedIn, "k3s") {
		folder = "/var/lib/rancher/k3s/agent/etc/cni/net.d"
	}
	wanted := ""
	switch r.Name {
	case "containerd":
		folder = path.Clean(cmp.Or(containerdConfig(out, r).Value.CNIConfDir, folder))
	case "cri-o":
		folder = path.Clean(cmp.Or(crioSetting(out, "network_dir").Value, folder))
		wanted = crioSetting(out, "cni_default_network").Value
	}
	listing := out.Bytes("cni:" + folder)
	if listing.State == fact.IsPresent && strings.TrimSpace(string(listing.Value)) == "" {
		return fact.Absent[cni.Selection](folder + " is empty")
	}
	return fact.Then(listing, func(b []byte) (cni.Selection, error) {
		var files []cni.File
		for line := range strings.Lines(string(b)) {
			f := cni.File{Name: strings.TrimSuffix(line, "\n")}
			if cni.IsCandidate(f.Name) {
				content := out.Bytes("cni:" + path.Join(folder, f.Name))
				f.Content, f.Why = content.Value, content.Why
			}
			if f.Name != "" {
				files = append(files, f)
			}
		}
		return cni.Select(cni.Rule{Runtime: r.Name, Network: wanted, Binaries: plugins(out)}, folder, files), nil
	})
}

// plugins are the CNI binaries on the node; nil when no folder of them could
// be read.
func plugins(out probe.Output) []string {
	var names []string
	for _, f := range out.Items("cni") {
		switch f.Name {
		case "/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni", "/var/lib/rancher/k3s/data/current/bin":
			names = append(names, strings.Fields(string(f.Bytes().Value))...)
		}
	}
	return names
}
