package platform_test

import "strings"

// The files that most defects are put into.
const (
	endpoints  = "contract/endpoints.yaml"
	secrets    = "contract/namespaces-secrets.yaml"
	storage    = "contract/storage-classes.yaml"
	grafana    = "apps/grafana/grafana.yaml"
	grafanaUI  = "apps/grafana/nodeport.yaml"
	dagster    = "apps/dagster/dagster.yaml"
	dagsterUI  = "apps/dagster/nodeport.yaml"
	mlflow     = "apps/mlflow/mlflow.yaml"
	mailpit    = "apps/mailpit/mailpit.yaml"
	portal     = "apps/portal/portal.yaml"
	registry   = "apps/registry/registry.yaml"
	prometheus = "apps/prometheus/prometheus.yaml"
	added      = "apps/added.yaml"
)

// nodePort is a Service that no endpoint promises.
const nodePort = `apiVersion: v1
kind: Service
metadata:
  name: backdoor
  namespace: registry
spec:
  type: NodePort
  selector:
    app: registry
  ports:
    - port: 80
      targetPort: 5000
`

// defects are what the check must find: one thing is broken, and that thing
// alone is reported, at that line.
var defects = []defect{
	// -- exposed on the contract's side, not on the manifests' ---------------
	{
		name:  "type flipped to ClusterIP",
		edits: []edit{{mlflow, "  type: NodePort", "  type: ClusterIP"}},
		want:  []want{{"exposed-without-nodeport", endpoints, line("exposed: true", after("id: mlflow"))}},
	},
	{ // what a three-way diff cannot see: the field is not there to be compared
		name:  "type left out",
		edits: []edit{{portal, "  type: NodePort\n", ""}},
		want:  []want{{"exposed-without-nodeport", endpoints, line("exposed: true", after("id: portal"))}},
	},
	{
		name:  "NodePort Service removed",
		edits: []edit{{file: dagsterUI}},
		want:  []want{{"exposed-without-nodeport", endpoints, line("exposed: true", after("id: dagster"))}},
	},
	{
		name:  "NodePort Service in another namespace",
		edits: []edit{{"apps/marquez/expose.yaml", "namespace: marquez", "namespace: dagster"}},
		want: []want{
			{"exposed-without-nodeport", endpoints, line("exposed: true", after("id: marquez-web"))},
			{"unpromised-nodeport", "apps/marquez/expose.yaml", line("type: NodePort")},
		},
	},
	{
		name:  "exposure names a Service that is not there",
		edits: []edit{{"apps/gitea/web.yaml", "name: gitea-web", "name: gitea-ui"}},
		want: []want{
			{"exposed-without-nodeport", endpoints, line("exposure: gitea-web")},
			{"unpromised-nodeport", "apps/gitea/web.yaml", line("type: NodePort")},
		},
	},
	{
		name: "hostPort promised, another one held",
		edits: []edit{
			{portal, "  type: NodePort\n", ""},
			{portal, "containerPort: 8080", "containerPort: 8080\n              hostPort: 8081"},
			{endpoints, "    source: apps/portal", "    exposure: {hostPort: 8080}\n    source: apps/portal"},
		},
		want: []want{
			{"exposed-without-nodeport", endpoints, line("exposure: {hostPort: 8080}")},
			{"unpromised-hostport", portal, line("hostPort: 8081")},
		},
	},

	// -- exposed by the manifests, promised by nobody -------------------------
	{
		name:  "NodePort Service added",
		edits: []edit{{added, "", nodePort}},
		want:  []want{{"unpromised-nodeport", added, line("type: NodePort")}},
	},
	{
		name:  "NodePort Service added in a List",
		edits: []edit{{added, "", "apiVersion: v1\nkind: List\nitems:\n  - " + indent(nodePort)}},
		want:  []want{{"unpromised-nodeport", added, line("type: NodePort")}},
	},
	{
		name:  "NodePort Service added in a ServiceList",
		edits: []edit{{added, "", "apiVersion: v1\nkind: ServiceList\nitems:\n  - " + indent(nodePort)}},
		want:  []want{{"unpromised-nodeport", added, line("type: NodePort")}},
	},
	{
		name:  "NodePort Service added after a document that is not YAML",
		edits: []edit{{added, "", "kind: Service\nname: @broken\n---\n" + nodePort}},
		want: []want{
			{"manifest-syntax", added, line("name: @broken")},
			{"unpromised-nodeport", added, line("type: NodePort")},
		},
	},
	{
		name:  "second port opened by a promised Service",
		edits: []edit{{mailpit, "---\napiVersion: apps/v1", "    - name: smtp\n      port: 1025\n      targetPort: smtp\n---\napiVersion: apps/v1"}},
		want:  []want{{"unpromised-nodeport", mailpit, line("- name: smtp", after("type: NodePort"))}},
	},
	{
		name:  "promised Service turned into a LoadBalancer",
		edits: []edit{{portal, "type: NodePort", "type: LoadBalancer"}},
		want:  []want{{"unpromised-loadbalancer", portal, line("type: LoadBalancer")}},
	},
	{
		name:  "LoadBalancer added",
		edits: []edit{{registry, "spec:\n  selector:\n    app: registry\n  ports:", "spec:\n  type: LoadBalancer\n  selector:\n    app: registry\n  ports:"}},
		want:  []want{{"unpromised-loadbalancer", registry, line("type: LoadBalancer")}},
	},
	{
		name:  "external address",
		edits: []edit{{prometheus, "spec:\n  selector:\n    app: prometheus\n  ports:", "spec:\n  externalIPs:\n    - 192.0.2.10\n  selector:\n    app: prometheus\n  ports:"}},
		want:  []want{{"unpromised-externalip", prometheus, line("- 192.0.2.10")}},
	},
	{
		name:  "hostPort added",
		edits: []edit{{registry, "- containerPort: 5000", "- containerPort: 5000\n              hostPort: 5000"}},
		want:  []want{{"unpromised-hostport", registry, line("hostPort: 5000")}},
	},
	{ // the container's port is the accepted number, the host's is not
		name:  "accepted hostPort moved",
		edits: []edit{{mailpit, "hostPort: 1025", "hostPort: 1026"}},
		want: []want{
			{"unpromised-hostport", mailpit, line("hostPort: 1026")},
			{"accept-unused", endpoints, line("- kind: HostPort")},
		},
	},
	{ // the ports that it opens are part of it
		name:  "network of the host",
		edits: []edit{{prometheus, "    spec:\n      containers:", "    spec:\n      hostNetwork: true\n      containers:"}},
		want:  []want{{"unpromised-hostnetwork", prometheus, line("hostNetwork: true")}},
	},
	{
		name: "hostPort in a CronJob",
		edits: []edit{{added, "", `apiVersion: batch/v1
kind: CronJob
metadata: {name: report, namespace: mailpit}
spec:
  schedule: "@daily"
  jobTemplate:
    spec:
      template:
        metadata: {labels: {app: report}}
        spec:
          containers:
            - name: report
              image: report:1
              ports:
                - containerPort: 9000
                  hostPort: 9000
`}},
		want: []want{{"unpromised-hostport", added, line("hostPort: 9000")}},
	},
	{
		name: "patch of kustomize that exposes",
		edits: []edit{
			{"apps/registry/kustomization.yaml", "", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [registry.yaml]\npatches:\n  - path: patch.yaml\n    target: {kind: Service, name: registry}\n"},
			{"apps/registry/patch.yaml", "", "- op: add\n  path: /spec/type\n  value: NodePort\n"},
		},
		want: []want{{"exposure-by-patch", "apps/registry/patch.yaml", line("value: NodePort")}},
	},
	{
		name:  "type of a Service that is not exposed",
		edits: []edit{{prometheus, "spec:\n  selector:\n    app: prometheus\n  ports:", "spec:\n  type: \"NodePort\"\n  selector:\n    app: prometheus\n  ports:"}},
		want:  []want{{"unpromised-nodeport", prometheus, line("type: \"NodePort\"")}},
	},
	{ // two files with one Service: neither hides the other
		name:  "another file exposes the same Service",
		edits: []edit{{"overlays/prod/registry.yaml", "", strings.Replace(nodePort, "backdoor", "registry", 1)}},
		want:  []want{{"unpromised-nodeport", "overlays/prod/registry.yaml", line("type: NodePort")}},
	},
	{
		name:  "NodePort Service added in a file named .yml",
		edits: []edit{{"apps/added.yml", "", nodePort}},
		want:  []want{{"unpromised-nodeport", "apps/added.yml", line("type: NodePort")}},
	},
	{
		name:  "NodePort Service on the line of its separator",
		edits: []edit{{added, "", "# none\n--- {apiVersion: v1, kind: Service, metadata: {name: backdoor, namespace: registry}, spec: {type: NodePort, selector: {app: registry}, ports: [{port: 80, targetPort: 5000}]}}\n"}},
		want:  []want{{"unpromised-nodeport", added, line("type: NodePort")}},
	},
	{
		name:  "NodePort Service between markers and comments",
		edits: []edit{{added, "", "%YAML 1.2\n--- # first\n" + nodePort + "...\n# end\n"}},
		want:  []want{{"unpromised-nodeport", added, line("type: NodePort")}},
	},
	{
		name:  "NodePort by way of an anchor",
		edits: []edit{{added, "", "apiVersion: v1\nkind: Service\nmetadata:\n  name: backdoor\n  namespace: registry\n  annotations: {was: &type NodePort}\nspec:\n  type: *type\n  selector: {app: registry}\n  ports: [{port: 80, targetPort: 5000}]\n"}},
		want:  []want{{"unpromised-nodeport", added, line("type: *type")}},
	},
	{
		name:  "NodePort by way of a merge key",
		edits: []edit{{added, "", "apiVersion: v1\nkind: Service\nmetadata:\n  name: backdoor\n  namespace: registry\nx-base: &base\n  type: NodePort\nspec:\n  <<: *base\n  selector: {app: registry}\n  ports: [{port: 80, targetPort: 5000}]\n"}},
		want:  []want{{"unpromised-nodeport", added, line("type: NodePort")}},
	},
	{
		name:  "LoadBalancer without node ports",
		edits: []edit{{added, "", strings.Replace(nodePort, "type: NodePort", "type: LoadBalancer\n  allocateLoadBalancerNodePorts: false", 1)}},
		want:  []want{{"unpromised-loadbalancer", added, line("type: LoadBalancer")}},
	},
	{
		name:  "hostPort in a Pod",
		edits: []edit{{added, "", "apiVersion: v1\nkind: Pod\nmetadata: {name: probe, namespace: registry}\nspec:\n  containers:\n    - name: probe\n      ports:\n        - containerPort: 9000\n          hostPort: 9001\n"}},
		want:  []want{{"unpromised-hostport", added, line("hostPort: 9001")}},
	},
	{
		name:  "hostPort in a DaemonSet's first container of two",
		edits: []edit{{added, "", "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: agent, namespace: monitoring}\nspec:\n  template:\n    spec:\n      containers:\n        - name: a\n          ports:\n            - {containerPort: 9100, hostPort: 9100}\n        - name: b\n          ports:\n            - {containerPort: 9101}\n"}},
		want:  []want{{"unpromised-hostport", added, line("hostPort: 9100")}},
	},
	{
		name: "patch that is part of a Service",
		edits: []edit{
			{"apps/registry/kustomization.yaml", "", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [registry.yaml]\npatches:\n  - path: patch.yaml\n"},
			{"apps/registry/patch.yaml", "", "apiVersion: v1\nkind: Service\nmetadata: {name: registry, namespace: registry}\nspec:\n  type: NodePort\n"},
		},
		want: []want{{"exposure-by-patch", "apps/registry/patch.yaml", line("type: NodePort")}},
	},
	{
		name:  "patch inside the kustomization",
		edits: []edit{{"apps/registry/kustomization.yaml", "", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [registry.yaml]\npatches:\n  - target: {kind: Service, name: registry}\n    patch: |-\n      - op: replace\n        path: /spec/type\n        value: LoadBalancer\n"}},
		want:  []want{{"exposure-by-patch", "apps/registry/kustomization.yaml", line("value: LoadBalancer")}},
	},

	// -- the Service behind it --------------------------------------------------
	{
		name:  "backend Service renamed",
		edits: []edit{{grafana, "  name: grafana\n  namespace: monitoring\n  labels", "  name: grafan\n  namespace: monitoring\n  labels"}},
		want:  []want{{"service-missing", endpoints, line("service: grafana")}},
	},
	{
		name:  "Service that is not exposed renamed",
		edits: []edit{{registry, "kind: Service\nmetadata:\n  name: registry", "kind: Service\nmetadata:\n  name: images"}},
		want:  []want{{"service-missing", endpoints, line("service: registry")}},
	},
	{
		name:  "CloudNativePG cluster renamed",
		edits: []edit{{"apps/postgres/cluster.yaml", "name: pg\n", "name: main\n"}},
		want:  []want{{"service-missing", endpoints, line("service: pg-rw")}},
	},
	{
		name:  "Rook object store renamed",
		edits: []edit{{"storage/datalake.yaml", "name: datalake\n  namespace: rook-ceph", "name: lake\n  namespace: rook-ceph"}},
		want:  []want{{"service-missing", endpoints, line("service: rook-ceph-rgw-datalake")}},
	},
	{
		name:  "source that is not there",
		edits: []edit{{endpoints, "source: apps/registry/registry.yaml", "source: apps/registry/service.yaml"}},
		want:  []want{{"source-missing", endpoints, line("source: apps/registry/service.yaml")}},
	},
	{
		name:  "port changed in the contract",
		edits: []edit{{endpoints, "fqdn: grafana.monitoring.svc.cluster.local\n    port: 80", "fqdn: grafana.monitoring.svc.cluster.local\n    port: 3001"}},
		want:  []want{{"port-mismatch", endpoints, line("port: 3001")}},
	},
	{
		name:  "port changed in the Service",
		edits: []edit{{registry, "port: 80\n", "port: 8080\n"}},
		want:  []want{{"port-mismatch", endpoints, line("port: 80", after("id: registry"))}},
	},
	{ // the pod's port is not the Service's
		name:  "container's port promised",
		edits: []edit{{endpoints, "fqdn: dagster-webserver.dagster.svc.cluster.local\n    port: 80", "fqdn: dagster-webserver.dagster.svc.cluster.local\n    port: 3000"}},
		want:  []want{{"port-mismatch", endpoints, line("port: 3000", after("id: dagster"))}},
	},
	{
		name:  "scheme that the Service denies",
		edits: []edit{{endpoints, "    source: apps/mailpit/mailpit.yaml", "    scheme: https\n    source: apps/mailpit/mailpit.yaml"}},
		want:  []want{{"scheme-mismatch", endpoints, line("scheme: https", after("id: mailpit"))}},
	},
	{
		name:  "fqdn of another namespace",
		edits: []edit{{endpoints, "fqdn: prometheus.monitoring.svc", "fqdn: prometheus.default.svc"}},
		want:  []want{{"fqdn-mismatch", endpoints, line("fqdn: prometheus.default")}},
	},
	{
		name: "namespace moved",
		edits: []edit{
			{registry, "kind: Service\nmetadata:\n  name: registry\n  namespace: registry", "kind: Service\nmetadata:\n  name: registry\n  namespace: portal"},
			{registry, "kind: Deployment\nmetadata:\n  name: registry\n  namespace: registry", "kind: Deployment\nmetadata:\n  name: registry\n  namespace: portal"},
		},
		want: []want{{"namespace-mismatch", endpoints, line("namespace: registry")}},
	},
	{
		name:  "exposing Service selects other pods",
		edits: []edit{{grafanaUI, "instance: main", "instance: other"}},
		want:  []want{{"exposure-selector", grafanaUI, line("app.kubernetes.io/name: grafana")}},
	},
	{
		name:  "exposing Service leads to another port",
		edits: []edit{{"apps/argocd/nodeport.yaml", "targetPort: 8080", "targetPort: 8083"}},
		want:  []want{{"exposure-port", "apps/argocd/nodeport.yaml", line("targetPort: 8083")}},
	},
	{ // the same number, but datagrams
		name:  "exposing Service of another protocol",
		edits: []edit{{"apps/marquez/expose.yaml", "      targetPort: 3000", "      targetPort: 3000\n      protocol: UDP"}},
		want: []want{
			{"exposed-without-nodeport", endpoints, line("exposed: true", after("id: marquez-web"))},
			{"unpromised-nodeport", "apps/marquez/expose.yaml", line("type: NodePort")},
		},
	},
	{
		name:  "selector without a workload",
		edits: []edit{{registry, "spec:\n  selector:\n    app: registry\n  ports:", "spec:\n  selector:\n    app: images\n  ports:"}},
		want:  []want{{"selector-unmatched", registry, line("app: images")}},
	},
	{
		name:  "name of a port that no container has",
		edits: []edit{{prometheus, "targetPort: web", "targetPort: http"}},
		want:  []want{{"targetport-unresolved", prometheus, line("targetPort: http")}},
	},
	{
		name:  "number of a port that no container declares",
		edits: []edit{{registry, "targetPort: 5000", "targetPort: 5001"}},
		want:  []want{{"targetport-undeclared", registry, line("targetPort: 5001")}},
	},
	{
		name:  "nodePort pinned",
		edits: []edit{{grafanaUI, "      port: 80\n", "      port: 80\n      nodePort: 30080\n"}},
		want:  []want{{"nodeport-pinned", grafanaUI, line("nodePort: 30080")}},
	},
	{
		name:  "nodePort on a ClusterIP",
		edits: []edit{{dagster, "      port: 80\n", "      port: 80\n      nodePort: 30081\n"}},
		want:  []want{{"nodeport-on-clusterip", dagster, line("nodePort: 30081")}},
	},

	// -- policies and rights ------------------------------------------------------
	{
		name:  "policy opens another port",
		edits: []edit{{"policies/mlflow.yaml", "port: 5000", "port: 5001"}},
		want:  []want{{"policy-may-block", "policies/mlflow.yaml", line("name: default-deny")}},
	},
	{
		name:  "policy opens another port by name",
		edits: []edit{{"policies/dagster.yaml", "- port: http", "- port: web"}},
		want:  []want{{"policy-may-block", "policies/dagster.yaml", line("name: default-deny")}},
	},
	{ // a browser is no pod of the cluster
		name:  "policy opens to pods only",
		edits: []edit{{"policies/mlflow.yaml", "    - ports:\n", "    - from:\n        - namespaceSelector: {}\n      ports:\n"}},
		want:  []want{{"policy-may-block", "policies/mlflow.yaml", line("name: default-deny")}},
	},
	{
		name:  "namespace denied without a rule",
		edits: []edit{{added, "", "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: default-deny, namespace: portal}\nspec: {podSelector: {}}\n"}},
		want:  []want{{"policy-may-block", added, line("name: default-deny")}},
	},
	{
		name:  "portal may read Secrets",
		edits: []edit{{"apps/portal/rbac.yaml", "resources: [services, nodes]", "resources: [services, nodes, secrets]"}},
		want:  []want{{"portal-reads-secrets", "apps/portal/rbac.yaml", line(`- apiGroups: [""]`)}},
	},
	{
		name:  "portal may read all that there is",
		edits: []edit{{"apps/portal/rbac.yaml", "resources: [services, nodes]", "resources: [\"*\"]"}},
		want:  []want{{"portal-reads-secrets", "apps/portal/rbac.yaml", line(`- apiGroups: [""]`)}},
	},
	{
		name:  "portal's namespace may read Secrets, as a group",
		edits: []edit{{added, "", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: all}\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: admin\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: \"system:serviceaccounts:portal\"}]\n"}},
		want:  []want{{"portal-reads-secrets", added, line("apiGroup: rbac")}},
	},
	{
		name:  "portal may edit one namespace",
		edits: []edit{{added, "", "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: edit, namespace: gitea}\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: edit\nsubjects: [{kind: ServiceAccount, name: portal, namespace: portal}]\n"}},
		want:  []want{{"portal-reads-secrets", added, line("apiGroup: rbac")}},
	},
	{
		name:  "portal may do everything",
		edits: []edit{{"apps/portal/rbac.yaml", "  kind: ClusterRole\n  name: portal", "  kind: ClusterRole\n  name: cluster-admin"}},
		want:  []want{{"portal-reads-secrets", "apps/portal/rbac.yaml", line("apiGroup: rbac.authorization.k8s.io", after("kind: ClusterRoleBinding"))}},
	},

	// -- storage, roles, projects --------------------------------------------------
	{
		name:  "storage class renamed",
		edits: []edit{{"storage/ceph-block.yaml", "name: ceph-block", "name: ceph-rbd"}},
		want:  []want{{"storageclass-missing", storage, line("- name: ceph-block")}},
	},
	{
		name:  "provisioner changed",
		edits: []edit{{"storage/local-path.yaml", "provisioner: rancher.io/local-path", "provisioner: example.com/hostpath"}},
		want:  []want{{"storageclass-provisioner", storage, line("provisioner: rancher.io/local-path")}},
	},
	{
		name:  "S3 endpoint on another port",
		edits: []edit{{storage, "svc.cluster.local:80", "svc.cluster.local:8080"}},
		want:  []want{{"s3-endpoint", storage, line("endpoint: rook-ceph-rgw")}},
	},
	{
		name:  "secret of a database role renamed",
		edits: []edit{{"apps/postgres/cluster.yaml", "name: pg-role-mlflow", "name: pg-role-tracking"}},
		want:  []want{{"secret-role", secrets, line("- secret: pg-role-mlflow")}},
	},
	{
		name:  "strict key of a secret changed",
		edits: []edit{{"apps/dagster/pg-secret.example.yaml", "postgresql-password:", "password:"}},
		want:  []want{{"secret-key", secrets, line("key: postgresql-password")}},
	},
	{
		name:  "destination taken from the project",
		edits: []edit{{"apps/argocd/appproject.yaml", "    - server: https://kubernetes.default.svc\n      namespace: mlflow\n", ""}},
		want:  []want{{"appproject-destination", secrets, line("- name: mlflow")}},
	},

	// -- the contract itself ------------------------------------------------------
	{
		name:  "id given twice",
		edits: []edit{{endpoints, "  - id: prometheus", "  - id: registry"}},
		want:  []want{{"endpoint-duplicate", endpoints, line("- id: registry", after("source: apps/registry"))}},
	},
	{ // what it promises still stands
		name:  "id of a UI given twice",
		edits: []edit{{endpoints, "  - id: marquez-web", "  - id: gitea"}},
		want:  []want{{"endpoint-duplicate", endpoints, line("- id: gitea", after("source: apps/gitea"))}},
	},
	{
		name:  "exposed is a text",
		edits: []edit{{endpoints, "    probe_from: dagster", "    exposed: \"false\"\n    probe_from: dagster"}},
		want:  []want{{"contract-field", endpoints, line(`exposed: "false"`)}},
	},
	{
		name:  "unknown scheme",
		edits: []edit{{endpoints, "    path: /", "    scheme: javascript"}},
		want:  []want{{"contract-field", endpoints, line("scheme: javascript")}},
	},
	{
		name:  "unknown field",
		edits: []edit{{endpoints, "    probe_from: dagster", "    probe-from: dagster"}},
		want:  []want{{"contract-field", endpoints, line("probe-from: dagster")}},
	},
	{
		name:  "port is a text",
		edits: []edit{{endpoints, "port: 5432", "port: \"5432\""}},
		want:  []want{{"contract-field", endpoints, line(`port: "5432"`)}},
	},
	{
		name:  "port out of range",
		edits: []edit{{endpoints, "port: 5432", "port: 65536"}},
		want:  []want{{"contract-field", endpoints, line("port: 65536")}},
	},
	{
		name:  "no namespace",
		edits: []edit{{endpoints, "    namespace: postgres\n", ""}},
		want:  []want{{"contract-field", endpoints, line("- id: postgres-rw")}},
	},
	{
		name:  "placeholder for a secret",
		edits: []edit{{endpoints, "secret: grafana-admin", "secret: <the secret>"}},
		want:  []want{{"contract-field", endpoints, line("secret: <the secret>")}},
	},
	{
		name:  "no such day",
		edits: []edit{{endpoints, "    reason: machines", "    until: 2026-02-30\n    reason: machines"}},
		want:  []want{{"contract-field", endpoints, line("until: 2026-02-30")}},
	},
	{
		name:  "version of the future",
		edits: []edit{{endpoints, "contract_version: \"1.0\"", "contract_version: \"2.0\""}},
		want:  []want{{"contract-field", endpoints, line("contract_version")}},
	},
	{
		name:  "field given twice",
		edits: []edit{{endpoints, "    path: /", "    port: 80"}},
		want:  []want{{"contract-syntax", endpoints, line("port: 80\n    auth: none\n    layer: socle")}},
	},
	{
		name:  "hostname of the gateway",
		edits: []edit{{endpoints, "    path: /", "    ui_hostname: portal.example.org"}},
		want:  []want{{"legacy-field", endpoints, line("ui_hostname:")}},
	},
	{
		name:  "accepted until a day that is over",
		edits: []edit{{endpoints, "    reason: machines", "    until: 2026-01-31\n    reason: machines"}},
		want:  []want{{"accept-expired", endpoints, line("until: 2026-01-31")}},
	},
	{
		name:  "accepted, and not there",
		edits: []edit{{endpoints, "accept:\n", "accept:\n  - {kind: NodePort, namespace: registry, name: gone, reason: was there once}\n"}},
		want:  []want{{"accept-unused", endpoints, line("name: gone")}},
	},

	// -- the manifests themselves ---------------------------------------------------
	{
		name:  "type given twice",
		edits: []edit{{registry, "spec:\n  selector:\n    app: registry\n  ports:", "spec:\n  type: ClusterIP\n  type: NodePort\n  selector:\n    app: registry\n  ports:"}},
		want:  []want{{"manifest-duplicate-key", registry, line("type: NodePort")}},
	},
	{
		name:  "type spelled with a capital",
		edits: []edit{{registry, "spec:\n  selector:\n    app: registry\n  ports:", "spec:\n  Type: NodePort\n  selector:\n    app: registry\n  ports:"}},
		want:  []want{{"manifest-field", registry, line("Type: NodePort")}},
	},
	{
		name:  "template that is not rendered",
		edits: []edit{{added, "", "apiVersion: v1\nkind: Service\nmetadata:\n  name: ui\nspec:\n  {{- if .Values.open }}\n  type: NodePort\n  {{- end }}\n"}},
		want:  []want{{"manifest-template", added, line("{{- if")}},
	},

	// -- the rest: rarer, and each of them once ---------------------------------------
	{
		name:  "two Services that expose one UI",
		edits: []edit{{added, "", "apiVersion: v1\nkind: Service\nmetadata: {name: lineage-b, namespace: marquez}\nspec:\n  type: NodePort\n  selector: {app.kubernetes.io/name: marquez, app.kubernetes.io/component: web}\n  ports: [{port: 3000}]\n"}},
		want:  []want{{"exposure-ambiguous", endpoints, line("exposed: true", after("id: marquez-web"))}},
	},
	{
		name:  "destination that the contract does not have",
		edits: []edit{{"apps/argocd/appproject.yaml", "      namespace: mlflow\n", "      namespace: mlflow\n    - server: https://kubernetes.default.svc\n      namespace: sandbox\n"}},
		want:  []want{{"appproject-undeclared", "apps/argocd/appproject.yaml", line("namespace: sandbox")}},
	},
	{
		name:  "default storage class not marked",
		edits: []edit{{"storage/local-path.yaml", "  annotations:\n    storageclass.kubernetes.io/is-default-class: \"true\"\n", ""}},
		want:  []want{{"storageclass-default", storage, line("- name: local-path")}},
	},
	{
		name:  "nodePort out of range",
		edits: []edit{{added, "", nodePort + "      nodePort: 40000\n"}, {endpoints, "accept:\n", "accept:\n  - {kind: NodePort, namespace: registry, name: backdoor, reason: for a test}\n"}},
		want:  []want{{"nodeport-range", added, line("nodePort: 40000")}},
	},
	{
		name: "one nodePort for two Services",
		edits: []edit{
			{added, "", nodePort + "      nodePort: 30500\n---\n" + strings.Replace(nodePort, "backdoor", "sidedoor", 1) + "      nodePort: 30500 # again\n"},
			{endpoints, "accept:\n", "accept:\n  - {kind: NodePort, namespace: registry, name: backdoor, reason: for a test}\n  - {kind: NodePort, namespace: registry, name: sidedoor, reason: for a test}\n"},
		},
		want: []want{{"nodeport-collision", added, line("nodePort: 30500 # again")}},
	},
	{
		name: "one port for two protocols",
		edits: []edit{
			{registry, "      targetPort: 5000\n", "      targetPort: 5000\n    - name: http3\n      port: 80\n      protocol: UDP\n      targetPort: 5000\n"},
			{registry, "- containerPort: 5000", "- containerPort: 5000\n            - containerPort: 5000\n              protocol: UDP"},
		},
		want: []want{{"port-twice", registry, line("- name: http3")}},
	},
	{
		name:  "Service in another file than its source",
		edits: []edit{{endpoints, "source: apps/prometheus/prometheus.yaml", "source: apps/registry"}},
		want:  []want{{"source-mismatch", endpoints, line("source: apps/registry", after("id: prometheus"))}},
	},
	{
		name:  "namespace that is not declared",
		edits: []edit{{secrets, "      - name: mailpit\n", ""}},
		want:  []want{{"namespace-undeclared", endpoints, line("namespace: mailpit")}},
	},
	{
		name:  "manifest without a namespace",
		edits: []edit{{registry, "kind: Service\nmetadata:\n  name: registry\n  namespace: registry\n", "kind: Service\nmetadata:\n  name: registry\n"}},
		want:  []want{{"namespace-unset", registry, line("name: registry")}},
	},
	{
		name:  "access to an endpoint that is not there",
		edits: []edit{{endpoints, "- endpoint: postgres-rw", "- endpoint: postgres-ro"}},
		want:  []want{{"network-access", endpoints, line("- endpoint: postgres-ro")}},
	},
	{
		name:  "custom resource of an unknown kind",
		edits: []edit{{file: registry}, {added, "", "apiVersion: example.com/v1\nkind: RegistryCluster\nmetadata: {name: registry, namespace: registry}\n"}, {endpoints, "source: apps/registry/registry.yaml", "source: " + added}},
		want:  []want{{"generator-unknown", endpoints, line("service: registry")}},
	},
	{
		name:  "exposure asked of an operator",
		edits: []edit{{"apps/postgres/cluster.yaml", "  managed:\n", "  managed:\n    services:\n      additional:\n        - selectorType: rw\n          serviceTemplate:\n            metadata: {name: pg-outside}\n            spec:\n              type: NodePort\n"}},
		want:  []want{{"exposure-by-operator", "apps/postgres/cluster.yaml", line("type: NodePort")}},
	},
	{
		name:  "example of a secret removed",
		edits: []edit{{file: "apps/dagster/pg-secret.example.yaml"}},
		want:  []want{{"secret-example", secrets, line("example_file: apps/dagster")}},
	},
	{
		name: "chart that is not rendered",
		edits: []edit{
			{"charts/ui/Chart.yaml", "", "apiVersion: v2\nname: ui\nversion: 0.1.0\n"},
			{"charts/ui/templates/service.yaml", "", "apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Release.Name }}\nspec:\n  type: NodePort\n"},
		},
		want: []want{{"manifest-chart", "charts/ui/Chart.yaml", 1}},
	},
	{
		name:  "document nested without end",
		edits: []edit{{added, "", "kind: Service\nspec: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n"}},
		want:  []want{{"manifest-unread", added, line("spec: [[[")}},
	},
	{
		name:  "reason still to be written",
		edits: []edit{{endpoints, "reason: machines outside the cluster send their alerts by SMTP to a fixed port", "reason: TODO"}},
		want:  []want{{"accept-reason", endpoints, line("reason: TODO")}},
	},

	// -- worth knowing, no more ---------------------------------------------------------
	{
		name:  "role in prose",
		edits: []edit{{endpoints, "    probe_from: dagster", "    role: primary read-write"}},
		infos: []want{{"contract-note", endpoints, line("role: primary")}},
	},
	{
		name:  "exposed said in the YAML of old",
		edits: []edit{{endpoints, "    exposed: true\n    source: apps/portal", "    exposed: yes\n    source: apps/portal"}},
		infos: []want{{"contract-note", endpoints, line("exposed: yes")}},
	},
	{
		name:  "secret that nobody names, but for a letter",
		edits: []edit{{endpoints, "secret: grafana-admin", "secret: grafana-admim"}},
		want:  []want{{"credential-unknown", endpoints, line("secret: grafana-admim")}},
	},
	{
		name: "Service of a chart that is not versioned",
		edits: []edit{
			{file: prometheus},
			{"apps/prometheus/values.yaml", "", "server:\n  replicas: 1\n"},
			{endpoints, "source: apps/prometheus/prometheus.yaml", "source: apps/prometheus"},
		},
		infos: []want{{"service-not-provable", endpoints, line("service: prometheus")}},
	},
	{
		name:  "chart installed from elsewhere",
		edits: []edit{{added, "", "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: loki, namespace: argocd}\nspec:\n  source:\n    repoURL: https://grafana.github.io/helm-charts\n    chart: loki\n  destination: {namespace: monitoring}\n"}},
		infos: []want{{"exposure-by-chart", added, line("name: loki")}},
	},
	{
		name:  "values that expose",
		edits: []edit{{"apps/k8s-dashboard/values.yaml", "type: ClusterIP", "type: NodePort"}},
		infos: []want{{"exposure-by-values", "apps/k8s-dashboard/values.yaml", line("type: NodePort")}},
	},
	{
		name:  "machinery of the cluster",
		edits: []edit{{added, "", "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: kube-proxy, namespace: kube-system}\nspec:\n  template:\n    spec:\n      hostNetwork: true\n      containers: [{name: kube-proxy}]\n"}},
		infos: []want{{"system-exposure", added, line("hostNetwork: true")}},
	},
	{ // it parses: a mapping in a mapping
		name:  "template in the place of the type",
		edits: []edit{{added, "", strings.Replace(nodePort, "type: NodePort", "type: {{ .Values.type }}", 1)}},
		want:  []want{{"manifest-template", added, line("type: {{")}},
	},
	{
		name:  "template in the place of the network",
		edits: []edit{{prometheus, "    spec:\n      containers:", "    spec:\n      hostNetwork: {{ .Values.host }}\n      containers:"}},
		want:  []want{{"manifest-template", prometheus, line("hostNetwork: {{")}},
	},
	{
		name:  "template in the place of a hostPort",
		edits: []edit{{registry, "- containerPort: 5000", "- containerPort: 5000\n              hostPort: {{ .Values.port }}"}},
		want:  []want{{"manifest-template", registry, line("hostPort: {{")}},
	},
	{
		name:  "template in the place of the ports",
		edits: []edit{{registry, "- containerPort: 5000", "{{ .Values.ports }}"}},
		want:  []want{{"manifest-template", registry, line("{{ .Values.ports }}")}},
	},
	{
		name:  "template within quotes",
		edits: []edit{{added, "", strings.Replace(nodePort, "type: NodePort", "type: \"{{ service_type }}\"", 1)}},
		want:  []want{{"manifest-template", added, line("type: \"{{")}},
	},
}

// leftovers of the way through a gateway, each of them alone in a file.
var leftovers = map[string]string{
	"Gateway":                    "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: edge, namespace: argocd}\nspec: {gatewayClassName: cilium, listeners: [{name: https, port: 443, protocol: HTTPS}]}\n",
	"HTTPRoute":                  "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: argocd, namespace: argocd}\nspec: {parentRefs: [{name: edge}], rules: [{backendRefs: [{name: argocd-server, port: 80}]}]}\n",
	"GatewayClass":               "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: cilium}\nspec: {controllerName: io.cilium/gateway-controller}\n",
	"CiliumLoadBalancerIPPool":   "apiVersion: cilium.io/v2\nkind: CiliumLoadBalancerIPPool\nmetadata: {name: default-pool}\nspec: {blocks: [{cidr: 192.0.2.0/28}]}\n",
	"CiliumL2AnnouncementPolicy": "apiVersion: cilium.io/v2alpha1\nkind: CiliumL2AnnouncementPolicy\nmetadata: {name: default}\nspec: {loadBalancerIPs: true}\n",
}

// harmless changes must not be found.
var harmless = []defect{
	{name: "comment that names a type", edits: []edit{{registry, "spec:\n  selector:", "spec:\n  # type: LoadBalancer\n  selector:"}}},
	{name: "ClusterIP written out", edits: []edit{{registry, "spec:\n  selector:", "spec:\n  type: ClusterIP\n  selector:"}}},
	{name: "hostPort on loopback", edits: []edit{{registry, "- containerPort: 5000", "- containerPort: 5000\n              hostPort: 5000\n              hostIP: 127.0.0.1"}}},
	{name: "hostPort on loopback, IPv6", edits: []edit{{registry, "- containerPort: 5000", "- containerPort: 5000\n              hostPort: 5000\n              hostIP: \"::1\""}}},
	{name: "network of the host refused", edits: []edit{{prometheus, "    spec:\n      containers:", "    spec:\n      hostNetwork: false\n      containers:"}}},
	{name: "manifest inside a ConfigMap", edits: []edit{{added, "", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: copy, namespace: registry}\ndata:\n  service.yaml: |\n    " + indent(nodePort)}}},
	{name: "same name in another namespace", edits: []edit{{added, "", "apiVersion: v1\nkind: Service\nmetadata: {name: grafana, namespace: dagster}\nspec: {type: ExternalName, externalName: grafana.monitoring.svc.cluster.local}\n"}}},
	{name: "selector in another order", edits: []edit{{grafanaUI, "    app.kubernetes.io/name: grafana\n    app.kubernetes.io/instance: main", "    app.kubernetes.io/instance: main\n    app.kubernetes.io/name: grafana"}}},
	{name: "documents of comments only", edits: []edit{{added, "", "# nothing\n---\n# here\n--- # nor here\n"}}},
	{name: "accepted NodePort", edits: []edit{{added, "", nodePort}, {endpoints, "accept:\n", "accept:\n  - {kind: NodePort, namespace: registry, name: backdoor, port: 80, reason: pushes from outside}\n"}}},
	{name: "accepted for some days more", edits: []edit{{endpoints, "    reason: machines", "    until: 2026-12-31\n    reason: machines"}}},
	{name: "accepted until today", edits: []edit{{endpoints, "    reason: machines", "    until: 2026-11-30\n    reason: machines"}}},
	{name: "exposed by its pods' hostPort", edits: []edit{
		{portal, "  type: NodePort\n", ""},
		{portal, "containerPort: 8080", "containerPort: 8080\n              hostPort: 8080"},
		{endpoints, "    source: apps/portal", "    exposure: {hostPort: 8080}\n    source: apps/portal"},
	}},
	{name: "exposed by its pods' hostPort, as a text", edits: []edit{
		{portal, "  type: NodePort\n", ""},
		{portal, "containerPort: 8080", "containerPort: 8080\n              hostPort: 8080"},
		{endpoints, "    source: apps/portal", "    exposure: \"hostPort: 8080\"\n    source: apps/portal"},
	}},
	{name: "exposing Service on another port of its own", edits: []edit{{grafanaUI, "      port: 80\n", "      port: 8080\n"}}},
	{name: "exposing Service by the number of the port", edits: []edit{{grafanaUI, "targetPort: grafana", "targetPort: 3000"}}},
	{name: "port of its own for another protocol", edits: []edit{{grafanaUI, "      targetPort: grafana", "      protocol: TCP\n      targetPort: grafana"}}},
	{name: "container of another workload", edits: []edit{{added, "", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: worker, namespace: dagster}\nspec:\n  selector: {matchLabels: {app: dagster, component: worker}}\n  template:\n    metadata: {labels: {app: dagster, component: worker}}\n    spec: {containers: [{name: worker}]}\n"}}},
	{name: "leftover that is accepted", edits: []edit{
		{added, "", leftovers["Gateway"]},
		{endpoints, "accept:\n", "accept:\n  - {kind: Gateway, namespace: argocd, name: edge, reason: until the switch, until: 2027-01-31}\n"},
	}, infos: []want{{"l7-leftover", added, line("name: ")}}},
	{name: "template that is accepted", edits: []edit{
		{added, "", "apiVersion: v1\nkind: Service\nmetadata: {name: ui}\nspec: {{ .Values.spec }}\n"},
		{endpoints, "accept:\n", "accept:\n  - {kind: File, name: apps/added.yaml, reason: rendered by the role that installs it}\n"},
	}, infos: []want{{"manifest-template", added, line("{{")}}},
	{name: "patch of something else", edits: []edit{
		{"apps/registry/kustomization.yaml", "", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [registry.yaml]\npatches:\n  - path: patch.yaml\n    target: {kind: Deployment, name: registry}\n"},
		{"apps/registry/patch.yaml", "", "- op: replace\n  path: /spec/replicas\n  value: 2\n"},
	}},
	{name: "another account reads Secrets", edits: []edit{{added, "", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: gitea}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: ServiceAccount, name: gitea, namespace: gitea}]\n"}}},
	{name: "portal may view", edits: []edit{{added, "", "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: view, namespace: gitea}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}\nsubjects: [{kind: ServiceAccount, name: portal, namespace: portal}]\n"}}},
	{name: "Service of Knative", edits: []edit{{added, "", "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: hello, namespace: portal}\nspec: {template: {spec: {containers: [{image: hello, ports: [{containerPort: 8080}]}]}}}\n"}}},
	{name: "policy for other pods", edits: []edit{{added, "", "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: db, namespace: portal}\nspec: {podSelector: {matchLabels: {app: db}}}\n"}}},
	{name: "policy of a range of ports", edits: []edit{{"policies/mlflow.yaml", "          port: 5000", "          port: 4000\n          endPort: 6000"}}},
	{name: "policy open to an address block", edits: []edit{{"policies/mlflow.yaml", "    - ports:\n", "    - from:\n        - ipBlock: {cidr: 0.0.0.0/0}\n      ports:\n"}}},
	{name: "policy open to everything", edits: []edit{{"policies/mlflow.yaml", "    - ports:\n        - protocol: TCP\n          port: 5000", "    - {}"}}},
	{name: "policy of outgoing traffic", edits: []edit{{added, "", "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: no-egress, namespace: portal}\nspec: {podSelector: {}, policyTypes: [Egress]}\n"}}},
	{name: "exposed said to be false", edits: []edit{{endpoints, "    probe_from: dagster", "    exposed: false\n    probe_from: dagster"}}},
	{name: "targetPort left out", edits: []edit{{mlflow, "      targetPort: http\n", ""}}},
}
