package portal

import (
	"cmp"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/kube"
	command "github.com/nestor-tools/nestor/portal/internal/kubectl"
)

// kubectl writes a command as any POSIX shell reads it: "kubectl -n NAMESPACE
// VERB NAME FLAGS".
func kubectl(verb, namespace, object string, flags ...string) string {
	return command.Command(verb, namespace, object, flags...)
}

// shell quotes words for any POSIX shell; "" where one cannot be written.
func shell(words ...string) string { return command.Shell(words...) }

// explain is the command that tells the whole story of an endpoint from the
// files, for what no single command mends.
func explain(id string) string { return command.Explain(id) }

// create makes an absent Service exist, where the contract names the file.
func create(e *contract.Endpoint) string { return cmp.Or(command.Apply(e.Source), explain(e.ID)) }

// expose makes the NodePort Service that an endpoint lacks.
func expose(e *contract.Endpoint, backend *kube.Service) string {
	return command.Expose(backend, e.Port, e.Exposure.Service)
}

func patchType(s *kube.Service, t kube.ServiceType) string {
	return command.PatchType(s.Namespace, s.Name, t)
}

func patch(s *kube.Service, spec map[string]any) string {
	return command.Patch(s.Namespace, s.Name, spec)
}

// selectAs gives a Service the selector of another.
func selectAs(s, backend *kube.Service) string { return command.SelectAs(s, backend) }

// showPods lists the pods that should answer.
func showPods(s *kube.Service) string { return command.ShowPods(s) }

func edit(kind, namespace, object string) string { return command.Edit(kind, namespace, object) }
