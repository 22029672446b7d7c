package manifest

import "github.com/nestor-tools/nestor/contract/kube"

// Tree is what a tree of manifests says. Every list is in the order of the
// files' names and of the lines in them.
type Tree struct {
	Files     []string // every file that was read
	Documents int      // that hold something

	Services  []kube.Service
	Workloads []kube.Workload
	Policies  []Policy
	// OtherPolicies are those of network plug-ins, which may open what a
	// NetworkPolicy does not; they are not read.
	OtherPolicies []kube.Object
	Routes        []Route
	Roles         []Role
	Bindings      []Binding

	Derived    []Derived     // what known operators will create
	Generators []kube.Object // custom resources that may create Services, unknown to the table
	Charts     []kube.Object // Helm releases and charts that are rendered elsewhere
	Elsewhere  []Elsewhere   // exposures decided outside of the manifests
	Leftovers  []kube.Object // of exposure through a gateway or a load balancer

	StorageClasses []StorageClass
	Secrets        []Secret
	SecretRefs     []kube.Object // Secrets that pods use
	Projects       []Project
	Databases      []Database

	Problems []Problem

	kustomizations []kustomization
	jsonPatches    []jsonPatch
}

// ProblemKind is why a document, or a part of it, cannot be judged.
type ProblemKind string

// The kinds of problem.
const (
	Syntax    ProblemKind = "syntax"
	Template  ProblemKind = "template"
	Duplicate ProblemKind = "duplicate"
	Limit     ProblemKind = "limit"
	Unread    ProblemKind = "unread" // the file could not be read
	Field     ProblemKind = "field"  // a field that the API refuses or ignores
)

// Problem is one of them, and where.
type Problem struct {
	Kind    ProblemKind
	At      kube.Position
	Message string
	Related []kube.Position
}

// ElsewhereKind is who decides.
type ElsewhereKind string

// Who may decide an exposure outside of the manifests.
const (
	ByPatch    ElsewhereKind = "patch"
	ByValues   ElsewhereKind = "values"
	ByOperator ElsewhereKind = "operator"
)

// Elsewhere is an exposure that a patch, the values of a chart or a custom
// resource decides.
type Elsewhere struct {
	By     ElsewhereKind
	Target kube.Object // what is exposed by it, as far as it is known
	What   string      // "type NodePort", "nodePort 32000"
	At     kube.Position
}

// Derived is a Service that an operator creates for a custom resource.
type Derived struct {
	kube.Object        // the custom resource
	Service     string // the name that the Service will have
	Ports       []int  // those that are known
}

// Route is a Service that an Ingress or an HTTPRoute leads to.
type Route struct {
	kube.Object
	Service   string
	Namespace string // of the Service
	At        kube.Position
}

// Role is a Role or a ClusterRole.
type Role struct {
	kube.Object
	ReadsSecrets bool
	SecretsAt    kube.Position // of the rule
}

// Binding is a RoleBinding or a ClusterRoleBinding.
type Binding struct {
	kube.Object
	Role     kube.Object // kind and name
	Accounts []kube.Object
	Groups   []string
}

// StorageClass is one of storage.k8s.io.
type StorageClass struct {
	kube.Object
	Provisioner   string
	ProvisionerAt kube.Position
	Default       bool
}

// Secret is the shape of a Secret; its values are not kept.
type Secret struct {
	kube.Object
	Keys []string
}

// Project is an Argo CD AppProject.
type Project struct {
	kube.Object
	Namespaces []kube.Object // the destinations, by their namespace's name
}

// Database is a CloudNativePG cluster and the Secrets of its roles.
type Database struct {
	kube.Object
	Secrets []kube.Object
}

func (t *Tree) merge(o *Tree) {
	t.Files = append(t.Files, o.Files...)
	t.Documents += o.Documents
	t.Services = append(t.Services, o.Services...)
	t.Workloads = append(t.Workloads, o.Workloads...)
	t.Policies = append(t.Policies, o.Policies...)
	t.OtherPolicies = append(t.OtherPolicies, o.OtherPolicies...)
	t.Routes = append(t.Routes, o.Routes...)
	t.Roles = append(t.Roles, o.Roles...)
	t.Bindings = append(t.Bindings, o.Bindings...)
	t.Derived = append(t.Derived, o.Derived...)
	t.Generators = append(t.Generators, o.Generators...)
	t.Charts = append(t.Charts, o.Charts...)
	t.Elsewhere = append(t.Elsewhere, o.Elsewhere...)
	t.Leftovers = append(t.Leftovers, o.Leftovers...)
	t.StorageClasses = append(t.StorageClasses, o.StorageClasses...)
	t.Secrets = append(t.Secrets, o.Secrets...)
	t.SecretRefs = append(t.SecretRefs, o.SecretRefs...)
	t.Projects = append(t.Projects, o.Projects...)
	t.Databases = append(t.Databases, o.Databases...)
	t.Problems = append(t.Problems, o.Problems...)
	t.kustomizations = append(t.kustomizations, o.kustomizations...)
	t.jsonPatches = append(t.jsonPatches, o.jsonPatches...)
}
