// Package kubectl writes commands for people to paste.
//
//	kubectl.Command("patch service", "shop", "web", "-p", `{"spec":{"type":"ClusterIP"}}`)
//
// gives kubectl -n shop patch service web -p '{"spec":{"type":"ClusterIP"}}',
// quoted as any POSIX shell reads it. It refuses, with "", names that the API
// does not allow, so that nothing is taken for a flag, and what no shell can
// be given.
package kubectl

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/nestor-tools/nestor/contract/kube"
)

// name is what the API allows in names of objects and in keys of Secrets:
// nothing that a template or a shell would take for something else.
var name = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?$`)

// IsName tells a name that the API allows.
func IsName(s string) bool { return name.MatchString(s) }

// Command is "kubectl -n NAMESPACE VERB NAME FLAGS". An empty object is left
// out.
func Command(verb, namespace, object string, flags ...string) string {
	if !IsName(namespace) || (object != "" && !IsName(object)) {
		return ""
	}
	words := append([]string{"kubectl", "-n", namespace}, strings.Fields(verb)...)
	if object != "" {
		words = append(words, object)
	}
	return Shell(append(words, flags...)...)
}

// Shell quotes words.
func Shell(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		var err error
		if quoted[i], err = syntax.Quote(word, syntax.LangPOSIX); err != nil {
			return ""
		}
	}
	return strings.Join(quoted, " ")
}

// Explain tells the whole story of an endpoint from the files, for what no
// single command mends.
func Explain(id string) string {
	if !IsName(id) {
		return ""
	}
	return Shell("nestor", "contract", "explain", id)
}

// Apply makes what a versioned file holds exist; "" where source is no file of
// manifests.
func Apply(source string) string {
	for _, suffix := range []string{".yaml", ".yml", ".json"} {
		if strings.HasSuffix(source, suffix) && !strings.HasPrefix(source, "-") {
			return Shell("kubectl", "apply", "-f", source)
		}
	}
	return ""
}

// Expose makes a NodePort Service beside another, for one port of it; name ""
// is <service>-nodeport. The cluster chooses the nodePort.
func Expose(backend *kube.Service, port int, name string) string {
	if len(backend.Selector) == 0 {
		return PatchType(backend.Namespace, backend.Name, kube.NodePortType)
	}
	flags := []string{"--type", "NodePort", "--name", cmp.Or(name, backend.Name+"-nodeport"), "--port", strconv.Itoa(port)}
	for _, p := range backend.Ports {
		switch {
		case p.Port != port || p.Protocol != "TCP":
		case p.Target.Name != "":
			flags = append(flags, "--target-port", p.Target.Name)
		case p.Target.Number != 0:
			flags = append(flags, "--target-port", strconv.Itoa(p.Target.Number))
		}
	}
	return Command("expose service", backend.Namespace, backend.Name, flags...)
}

// PatchType changes the type of a Service.
func PatchType(namespace, service string, t kube.ServiceType) string {
	return Patch(namespace, service, map[string]any{"type": string(t)})
}

// Patch changes the spec of a Service.
func Patch(namespace, service string, spec map[string]any) string {
	body, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return ""
	}
	return Command("patch service", namespace, service, "-p", string(body))
}

// SelectAs gives a Service the selector of another.
func SelectAs(s, backend *kube.Service) string {
	return Command("set selector service", s.Namespace, s.Name, strings.Join(pairs(backend.Selector), ","))
}

// ShowPods lists the pods that should answer.
func ShowPods(s *kube.Service) string {
	if len(s.Selector) == 0 {
		return Command("get endpointslices", s.Namespace, "", "-l", "kubernetes.io/service-name="+s.Name)
	}
	return Command("describe pods", s.Namespace, "", "-l", strings.Join(pairs(s.Selector), ","))
}

// Edit opens an object.
func Edit(kind, namespace, object string) string {
	if !IsName(kind) {
		return ""
	}
	return Command("edit "+strings.ToLower(kind), namespace, object)
}

// Delete removes an object; resource is its plural, with its group where it
// has one. An empty namespace is for what has none.
func Delete(resource, namespace, object string) string {
	switch {
	case !IsName(resource) || !IsName(object):
		return ""
	case namespace == "":
		return Shell("kubectl", "delete", resource, object)
	}
	return Command("delete "+resource, namespace, object)
}

func pairs(m map[string]string) []string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, k+"="+m[k])
	}
	return all
}
