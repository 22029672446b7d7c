package contract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"

	"github.com/nestor-tools/nestor/contract/kube"
	"github.com/nestor-tools/nestor/contract/manifest"
)

// File is a manifest to be written.
type File struct {
	Path      string // beside the vendored file, prefixed as positions are
	Text      []byte
	Endpoints []string // those that it serves
}

// Unwritten is an endpoint whose NodePort Service cannot be made.
type Unwritten struct {
	Endpoint string
	Reason   string
}

// NodePorts makes the NodePort Services that exposed endpoints lack, from the
// selector and the port of the ClusterIP Service in the manifests. The number
// of the node port is left to the cluster. The vendored file is not touched.
func NodePorts(s *Set, tree *manifest.Tree, o Options) ([]File, []Unwritten) {
	type job struct {
		name, namespace string
		backend         *kube.Service
		ports           []kube.ServicePort
		ids             []string
	}
	jobs := map[string]*job{}
	var left []Unwritten
	c := &checker{Set: s, tree: tree, Options: o}
	for _, p := range Match(s.Contract, World{tree.Services, tree.Workloads, o.Prefix}, o.Today).Promises {
		e, b := p.Endpoint, p.Backend
		if !e.Exposed || e.Exposure.HostPort != 0 || p.Exposing != nil || p.Rivals != nil {
			continue
		}
		unwritten := func(format string, args ...any) {
			left = append(left, Unwritten{e.ID, fmt.Sprintf(format, args...)})
		}
		switch {
		case b == nil:
			unwritten("Service %s is in no manifest: write the NodePort Service by hand, with the labels of the chart's pods", qualified(e.Namespace, e.Service))
			continue
		case b.Type == kube.ExternalName:
			unwritten("Service %s is an ExternalName and selects no pod", qualified(e.Namespace, e.Service))
			continue
		case len(b.Selector) == 0:
			unwritten("Service %s has no selector", qualified(e.Namespace, e.Service))
			continue
		}
		port := b.PortNumbered(e.Port)
		if port == nil {
			unwritten("Service %s has no port %d", qualified(e.Namespace, e.Service), e.Port)
			continue
		}
		name := cmp.Or(e.Exposure.Service, e.Service+"-nodeport")
		if existing := c.find(e, name); existing != nil {
			unwritten("%s: Service %s exists and is a %s: make it a NodePort", place(pos(existing.TypeAt)), qualified(e.Namespace, name), existing.Type)
			continue
		}
		namespace := cmp.Or(b.Namespace, e.Namespace)
		same := func(file string) bool {
			j := jobs[file]
			return j == nil || (j.name == name && j.namespace == namespace && j.backend == b)
		}
		file := path.Join(path.Dir(b.At.File), name+".yaml")
		if !same(file) { // a folder may hold one name in two namespaces
			file = path.Join(path.Dir(b.At.File), namespace+"-"+name+".yaml")
		}
		// the contract may already say where the exposing Service is to be
		if ext := path.Ext(e.Source); (ext == ".yaml" || ext == ".yml") && fs.ValidPath(path.Clean(e.Source)) && !c.exists(e.Source) {
			if promised := path.Join(o.Prefix, e.Source); same(promised) {
				file = promised
			}
		}
		if !same(file) {
			unwritten("Service %s is asked for from two backends: name another under exposure:", qualified(namespace, name))
			continue
		}
		j := jobs[file]
		if j == nil {
			j = &job{name: name, namespace: namespace, backend: b}
			jobs[file] = j
		}
		if !slices.ContainsFunc(j.ports, func(q kube.ServicePort) bool { return q.Port == port.Port && q.Protocol == port.Protocol }) {
			j.ports = append(j.ports, *port)
		}
		j.ids = append(j.ids, e.ID)
	}
	var files []File
	for _, file := range slices.Sorted(maps.Keys(jobs)) {
		j := jobs[file]
		files = append(files, File{file, nodePortText(j.name, j.namespace, path.Base(j.backend.At.File), j.backend, j.ports), j.ids})
	}
	return files, left
}

func place(p Position) string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

func nodePortText(name, namespace, from string, b *kube.Service, ports []kube.ServicePort) []byte {
	var t bytes.Buffer
	fmt.Fprintf(&t, "# Exposes Service %s of %s on every node. The cluster assigns the\n", oneLine(b.Name), oneLine(from))
	t.WriteString("# nodePort; the portal observes it. Written by: nestor contract nodeports\n")
	fmt.Fprintf(&t, "apiVersion: v1\nkind: Service\nmetadata:\n  name: %s\n  namespace: %s\nspec:\n  type: NodePort\n  selector:\n", scalar(name), scalar(namespace))
	for _, k := range slices.Sorted(maps.Keys(b.Selector)) {
		fmt.Fprintf(&t, "    %s: %s\n", scalar(k), scalar(b.Selector[k]))
	}
	t.WriteString("  ports:\n")
	for _, p := range ports {
		fmt.Fprintf(&t, "    - name: %s\n      port: %d\n", scalar(cmp.Or(p.Name, fmt.Sprintf("port-%d", p.Port))), p.Port)
		switch {
		case p.Target.Name != "":
			fmt.Fprintf(&t, "      targetPort: %s\n", scalar(p.Target.Name))
		case p.Target.Number != 0:
			fmt.Fprintf(&t, "      targetPort: %d\n", p.Target.Number)
		}
		fmt.Fprintf(&t, "      protocol: %s\n", scalar(p.Protocol))
		if p.AppProtocol != "" {
			fmt.Fprintf(&t, "      appProtocol: %s\n", scalar(p.AppProtocol))
		}
	}
	return t.Bytes()
}

var (
	plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._/-]*$`)
	notText   = regexp.MustCompile(`(?i)^(true|false|yes|no|on|off|y|n|null)$`)
)

// scalar writes a text so that every reader of YAML takes it for one. JSON
// strings are YAML.
func scalar(s string) string {
	if plainText.MatchString(s) && !notText.MatchString(s) {
		return s
	}
	quoted, _ := json.Marshal(s) // a string always has a JSON form
	return string(quoted)
}
