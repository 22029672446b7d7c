package mapping

import (
	"path"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/mapping/cni"
	"github.com/nestor-tools/nestor/mapping/cri"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/probe"
)

// runtimeFact finds the runtime that the kubelet uses. Without a kubelet's
// word the only socket is taken; of several none is.
func runtimeFact(out probe.Output) Observed[cri.Runtime] {
	section := out.Bytes("cri")
	b, ok := section.Get()
	if !ok {
		return Observed[cri.Runtime]{State: section.State, Why: section.Why}
	}
	sockets := strings.Fields(string(b))
	r := cri.Runtime{}
	r.Socket, r.ChosenBy = kubeletEndpoint(out)
	if r.Socket == "" {
		// Docker's own socket speaks no CRI; the containerd below it does.
		candidates := slices.DeleteFunc(slices.Clone(sockets), func(s string) bool { return cri.NameOf(s) == "" })
		switch len(candidates) {
		case 0:
			return fact.Absent[cri.Runtime]("no socket of a container runtime, and no kubelet that names one")
		case 1:
			r.Socket, r.ChosenBy = candidates[0], "the only socket"
		default:
			return fact.Unknown[cri.Runtime]("no kubelet says which it uses of " + strings.Join(candidates, ", "))
		}
	}
	r.Others = slices.DeleteFunc(sockets, func(s string) bool { return s == r.Socket })
	slices.Sort(r.Others)
	version := runtimeVersion(out, r.Socket)
	r.Name = cri.NameOf(r.Socket)
	if version.Value.Name != "" {
		r.Name = version.Value.Name
	}
	r.Version = fact.Then(version, func(v cri.Version) (string, error) { return v.Raw, nil })
	return fact.Present(r)
}

// kubeletEndpoint is the socket that the running kubelet was told to use, and
// what told it.
func kubeletEndpoint(out probe.Output) (socket, chosenBy string) {
	const flag = "--container-runtime-endpoint"
	for _, source := range []struct{ frame, what string }{
		{"kubelet:cmdline", "the kubelet's command line"},
		{"kubelet:/var/lib/kubelet/kubeadm-flags.env", "kubeadm-flags.env"},
	} {
		words := strings.FieldsFunc(string(out.Bytes(source.frame).Value), func(r rune) bool { return strings.ContainsRune("\n \"'", r) })
		for i, w := range words {
			if value, ok := strings.CutPrefix(w, flag+"="); ok {
				return cri.SocketOf(value), source.what
			}
			if w == flag && i+1 < len(words) {
				return cri.SocketOf(words[i+1]), source.what
			}
		}
	}
	return "", ""
}

// runtimeVersion asks the runtime itself, through crictl; else the binary,
// which may be newer than what runs.
func runtimeVersion(out probe.Output, socket string) Observed[cri.Version] {
	if answer := fact.Then(out.Bytes("cri:crictl "+socket), cri.Parse); answer.State == fact.IsPresent {
		return answer
	}
	name := cri.NameOf(socket)
	tool := map[string]string{"containerd": "containerd", "cri-o": "crio", "cri-dockerd": "cri-dockerd"}[name]
	if e := cri.EmbeddedIn(socket); e != "" {
		tool = e
	}
	if tool == "" {
		return fact.Unknown[cri.Version]("nestor does not know the runtime behind " + socket)
	}
	return fact.Then(out.Bytes("cri:"+tool), func(b []byte) (cri.Version, error) {
		raw, err := cri.ParseVersion(b)
		return cri.Version{Name: name, Raw: raw}, err
	})
}

// cniFact says what the runtime loads from its folder.
func cniFact(out probe.Output, runtime Observed[cri.Runtime]) Observed[cni.Selection] {
	folder := "/etc/cni/net.d"
	if cri.EmbeddedIn(runtime.Value.Socket) == "k3s" {
		folder = "/var/lib/rancher/k3s/agent/etc/cni/net.d"
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
		return cni.Select(runtime.Value.Name, folder, files, plugins(out)), nil
	})
}

// plugins are the CNI binaries on the node; nil when no folder of them could
// be read.
func plugins(out probe.Output) []string {
	var names []string
	for _, f := range out.Items("cni") {
		if path.Base(f.Name) == "net.d" || strings.Contains(f.Name, "/net.d/") {
			continue
		}
		names = append(names, strings.Fields(string(f.Bytes().Value))...)
	}
	return names
}
