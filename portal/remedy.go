package portal

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/kube"
)

// kubectl writes a command as any POSIX shell reads it: "kubectl -n NAMESPACE
// VERB NAME FLAGS". It gives "" where a name is none that the API allows, so
// that nothing is taken for a flag, and where a word cannot be written.
func kubectl(verb, namespace, object string, flags ...string) string {
	if !name.MatchString(namespace) || (object != "" && !name.MatchString(object)) {
		return ""
	}
	words := append([]string{"kubectl", "-n", namespace}, strings.Fields(verb)...)
	if object != "" {
		words = append(words, object)
	}
	return shell(append(words, flags...)...)
}

// shell quotes words for any POSIX shell; "" where one cannot be written.
func shell(words ...string) string {
	for i, word := range words {
		quoted, err := syntax.Quote(word, syntax.LangPOSIX)
		if err != nil {
			return ""
		}
		words[i] = quoted
	}
	return strings.Join(words, " ")
}

// explain is the command that tells the whole story of an endpoint from the
// files, for what no single command mends.
func explain(id string) string {
	if !name.MatchString(id) {
		return ""
	}
	return shell("nestor", "contract", "explain", id)
}

// create makes an absent Service exist, where the contract names the file.
func create(e *contract.Endpoint) string {
	for _, suffix := range []string{".yaml", ".yml", ".json"} {
		if strings.HasSuffix(e.Source, suffix) && !strings.HasPrefix(e.Source, "-") {
			return shell("kubectl", "apply", "-f", e.Source)
		}
	}
	return explain(e.ID)
}

// expose makes the NodePort Service that an endpoint lacks. The cluster
// chooses the nodePort.
func expose(e *contract.Endpoint, backend *kube.Service) string {
	if len(backend.Selector) == 0 {
		return patchType(backend, kube.NodePortType)
	}
	flags := []string{"--type=NodePort", fmt.Sprintf("--name=%s-nodeport", backend.Name), fmt.Sprintf("--port=%d", e.Port)}
	for _, p := range backend.Ports {
		if p.Port == e.Port && p.Protocol == "TCP" && p.Target.Name != "" {
			flags = append(flags, "--target-port="+p.Target.Name)
		} else if p.Port == e.Port && p.Protocol == "TCP" && p.Target.Number != 0 {
			flags = append(flags, fmt.Sprintf("--target-port=%d", p.Target.Number))
		}
	}
	return kubectl("expose service", backend.Namespace, backend.Name, flags...)
}

func patchType(s *kube.Service, t kube.ServiceType) string {
	return patch(s, map[string]any{"type": string(t)})
}

func patch(s *kube.Service, spec map[string]any) string {
	body, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return ""
	}
	return kubectl("patch service", s.Namespace, s.Name, "-p", string(body))
}

// selectAs gives a Service the selector of another.
func selectAs(s, backend *kube.Service) string {
	pairs := pairs(backend.Selector)
	return kubectl("set selector service", s.Namespace, s.Name, strings.Join(pairs, ","))
}

// showPods lists the pods that should answer.
func showPods(s *kube.Service) string {
	if len(s.Selector) == 0 {
		return kubectl("get endpointslices", s.Namespace, "", "-l", "kubernetes.io/service-name="+s.Name)
	}
	return kubectl("describe pods", s.Namespace, "", "-l", strings.Join(pairs(s.Selector), ","))
}

func edit(kind, namespace, object string) string {
	if !name.MatchString(kind) {
		return ""
	}
	return kubectl("edit "+strings.ToLower(kind), namespace, object)
}

func pairs(m map[string]string) []string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, k+"="+m[k])
	}
	return all
}
