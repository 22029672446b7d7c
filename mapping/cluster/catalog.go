package cluster

import "strings"

// The layers, from the bottom up.
const (
	Socle      = "socle" // what everything stands on: network, storage, certificates
	Monitoring = "monitoring"
	GitOps     = "gitops"
	DataOps    = "dataops"
	Rest       = "rest"
)

var layerNames = []string{Socle, Monitoring, GitOps, DataOps, Rest}

// rule tells one component.
type rule struct {
	name, layer string
	images      string // endings of image repositories, with blanks between; the first has the component's version
	groups      string // API groups, or their endings, of its resource definitions
	namespaces  string // where it lives by custom
	labels      string // app.kubernetes.io/name or part-of; its name always counts
}

// rules is the catalogue. The names of images, API groups and namespaces are
// those that the projects publish.
var rules = []rule{
	// Network, storage, certificates and the cluster's own machinery.
	{"coredns", Socle, "coredns/coredns rancher/mirrored-coredns-coredns", "", "", "kube-dns"},
	{"kube-proxy", Socle, "kube-proxy", "", "", ""},
	{"cilium", Socle, "cilium/cilium cilium/operator-generic cilium/operator cilium/cilium-envoy cilium/hubble-relay cilium/hubble-ui cilium/clustermesh-apiserver", "cilium.io", "cilium cilium-secrets", ""},
	{"calico", Socle, "calico/node calico/kube-controllers calico/typha calico/apiserver tigera/operator", "crd.projectcalico.org projectcalico.org operator.tigera.io", "calico-system calico-apiserver tigera-operator", ""},
	{"flannel", Socle, "flannel/flannel flannel-io/flannel", "", "kube-flannel", ""},
	{"multus", Socle, "multus-cni k8snetworkplumbingwg/multus-cni", "k8s.cni.cncf.io", "", ""},
	{"kube-router", Socle, "cloudnativelabs/kube-router", "", "", ""},
	{"node-local-dns", Socle, "k8s-dns-node-cache", "", "", ""},
	{"kube-vip", Socle, "kube-vip/kube-vip", "", "kube-vip", ""},
	{"metallb", Socle, "metallb/controller metallb/speaker", "metallb.io", "metallb-system", ""},
	{"gateway-api", Socle, "", "gateway.networking.k8s.io", "gateway-system", ""},
	{"ingress-nginx", Socle, "ingress-nginx/controller", "", "ingress-nginx", ""},
	{"traefik", Socle, "traefik rancher/mirrored-library-traefik", "traefik.io traefik.containo.us hub.traefik.io", "traefik", ""},
	{"envoy-gateway", Socle, "envoyproxy/gateway", "gateway.envoyproxy.io", "envoy-gateway-system", ""},
	{"haproxy-ingress", Socle, "haproxytech/kubernetes-ingress", "haproxy.org", "haproxy-controller", ""},
	{"istio", Socle, "istio/pilot istio/install-cni istio/ztunnel", "istio.io", "istio-system", ""},
	{"linkerd", Socle, "linkerd/controller linkerd/policy-controller", "linkerd.io", "linkerd linkerd-viz", ""},
	{"external-dns", Socle, "external-dns/external-dns", "externaldns.k8s.io", "external-dns", ""},
	{"cert-manager", Socle, "jetstack/cert-manager-controller jetstack/cert-manager-webhook jetstack/cert-manager-cainjector", "cert-manager.io", "cert-manager", ""},
	{"trust-manager", Socle, "jetstack/trust-manager", "trust.cert-manager.io", "", ""},
	{"metrics-server", Socle, "metrics-server/metrics-server rancher/mirrored-metrics-server", "", "", ""},
	{"rook", Socle, "rook/ceph", "ceph.rook.io", "rook-ceph rook-ceph-system", "rook-ceph-operator"},
	{"ceph", Socle, "ceph/ceph", "", "", ""},
	{"ceph-csi", Socle, "cephcsi/cephcsi cephcsi/ceph-csi-operator", "csi.ceph.io csiaddons.openshift.io", "", "ceph-csi-operator"},
	{"bucket-provisioner", Socle, "", "objectbucket.io", "", ""},
	{"local-path-provisioner", Socle, "rancher/local-path-provisioner", "", "local-path-storage", ""},
	{"nfs-subdir-provisioner", Socle, "sig-storage/nfs-subdir-external-provisioner", "", "", "nfs-subdir-external-provisioner"},
	{"csi-driver-nfs", Socle, "sig-storage/nfsplugin", "", "", ""},
	{"longhorn", Socle, "longhornio/longhorn-manager longhornio/longhorn-ui longhornio/longhorn-instance-manager", "longhorn.io", "longhorn-system", ""},
	{"openebs", Socle, "openebs/provisioner-localpv openebs/lvm-driver openebs/zfs-driver openebs/mayastor-api-rest", "openebs.io", "openebs", ""},
	{"topolvm", Socle, "topolvm/topolvm topolvm/topolvm-with-sidecar", "topolvm.io topolvm.cybozu.com", "topolvm-system", ""},
	{"piraeus", Socle, "piraeusdatastore/piraeus-operator piraeusdatastore/piraeus-server", "piraeus.io", "piraeus-datastore", ""},
	{"snapshot-controller", Socle, "sig-storage/snapshot-controller", "snapshot.storage.k8s.io groupsnapshot.storage.k8s.io", "", ""},
	{"node-feature-discovery", Socle, "nfd/node-feature-discovery", "nfd.k8s-sigs.io", "node-feature-discovery", ""},
	{"nvidia-gpu-operator", Socle, "nvidia/gpu-operator nvidia/k8s-device-plugin", "nvidia.com", "gpu-operator", ""},
	{"system-upgrade-controller", Socle, "rancher/system-upgrade-controller", "upgrade.cattle.io", "system-upgrade", ""},
	{"k3s", Socle, "", "k3s.cattle.io helm.cattle.io", "", ""},
	{"klipper-lb", Socle, "rancher/klipper-lb", "", "", ""},

	// Monitoring and logs.
	{"prometheus-operator", Monitoring, "prometheus-operator/prometheus-operator", "monitoring.coreos.com", "", ""},
	{"prometheus", Monitoring, "prometheus/prometheus prom/prometheus", "", "monitoring prometheus", ""},
	{"alertmanager", Monitoring, "prometheus/alertmanager prom/alertmanager", "", "", ""},
	{"grafana", Monitoring, "grafana/grafana grafana/grafana-oss grafana/grafana-enterprise", "grafana.integreatly.org", "grafana", ""},
	{"node-exporter", Monitoring, "prometheus/node-exporter prom/node-exporter", "", "", "prometheus-node-exporter"},
	{"kube-state-metrics", Monitoring, "kube-state-metrics/kube-state-metrics", "", "", ""},
	{"blackbox-exporter", Monitoring, "prometheus/blackbox-exporter prom/blackbox-exporter", "", "", "prometheus-blackbox-exporter"},
	{"pushgateway", Monitoring, "prometheus/pushgateway prom/pushgateway", "", "", "prometheus-pushgateway"},
	{"prometheus-adapter", Monitoring, "prometheus-adapter/prometheus-adapter", "", "", ""},
	{"loki", Monitoring, "grafana/loki grafana/loki-canary", "loki.grafana.com", "loki logging", ""},
	{"promtail", Monitoring, "grafana/promtail", "", "", ""},
	{"alloy", Monitoring, "grafana/alloy", "", "", ""},
	{"tempo", Monitoring, "grafana/tempo", "tempo.grafana.com", "tempo tracing", ""},
	{"mimir", Monitoring, "grafana/mimir", "", "mimir", ""},
	{"thanos", Monitoring, "thanos/thanos", "monitoring.thanos.io", "thanos", ""},
	{"victoria-metrics", Monitoring, "victoriametrics/victoria-metrics victoriametrics/operator victoriametrics/vmagent victoriametrics/vmalert", "operator.victoriametrics.com", "victoria-metrics", ""},
	{"opentelemetry", Monitoring, "opentelemetry-operator/opentelemetry-operator otel/opentelemetry-collector otel/opentelemetry-collector-contrib otel/opentelemetry-collector-k8s", "opentelemetry.io", "opentelemetry observability", ""},
	{"jaeger", Monitoring, "jaegertracing/all-in-one jaegertracing/jaeger-operator jaegertracing/jaeger", "jaegertracing.io", "jaeger", ""},
	{"fluent-bit", Monitoring, "fluent/fluent-bit", "fluentbit.fluent.io", "", ""},
	{"vector", Monitoring, "timberio/vector", "", "vector", ""},
	{"elastic", Monitoring, "elasticsearch/elasticsearch kibana/kibana eck/eck-operator", "k8s.elastic.co", "elastic-system", ""},
	{"uptime-kuma", Monitoring, "louislam/uptime-kuma", "", "", ""},

	// What deploys.
	{"argo-cd", GitOps, "argoproj/argocd argoproj/argo-cd", "argoproj.io", "argocd argo-cd", "argocd"},
	{"argo-rollouts", GitOps, "argoproj/argo-rollouts", "", "argo-rollouts", ""},
	{"argo-workflows", GitOps, "argoproj/workflow-controller argoproj/argocli", "", "argo", ""},
	{"argo-events", GitOps, "argoproj/argo-events", "", "argo-events", ""},
	{"flux", GitOps, "fluxcd/source-controller fluxcd/kustomize-controller fluxcd/helm-controller fluxcd/notification-controller fluxcd/image-reflector-controller fluxcd/image-automation-controller", "fluxcd.io", "flux-system", ""},
	{"gitea", GitOps, "gitea/gitea", "", "gitea", ""},
	{"forgejo", GitOps, "forgejo/forgejo", "", "forgejo", ""},
	{"gitlab", GitOps, "gitlab-org/build/cng/gitlab-webservice-ee gitlab-org/build/cng/gitlab-webservice-ce gitlab/gitlab-ce", "gitlab.com", "gitlab", ""},
	{"gitlab-runner", GitOps, "gitlab-org/gitlab-runner gitlab/gitlab-runner", "", "gitlab-runner", ""},
	{"actions-runner-controller", GitOps, "actions/gha-runner-scale-set-controller", "actions.github.com actions.summerwind.dev", "arc-systems arc-runners", ""},
	{"tekton", GitOps, "tektoncd/pipeline/cmd/controller", "tekton.dev", "tekton-pipelines", ""},
	{"sealed-secrets", GitOps, "bitnami-labs/sealed-secrets-controller bitnami/sealed-secrets-controller", "bitnami.com", "sealed-secrets", ""},
	{"external-secrets", GitOps, "external-secrets/external-secrets", "external-secrets.io generators.external-secrets.io", "external-secrets", ""},
	{"crossplane", GitOps, "crossplane/crossplane", "crossplane.io", "crossplane-system", ""},

	// Data.
	{"cloudnative-pg", DataOps, "cloudnative-pg/cloudnative-pg", "cnpg.io", "cnpg-system", ""},
	{"postgresql", DataOps, "postgres cloudnative-pg/postgresql bitnami/postgresql", "", "postgres postgresql databases", ""},
	{"pgadmin", DataOps, "dpage/pgadmin4", "", "pgadmin", "pgadmin4"},
	{"mariadb", DataOps, "mariadb bitnami/mariadb mariadb-operator/mariadb-operator", "k8s.mariadb.com", "mariadb", ""},
	{"mysql", DataOps, "mysql bitnami/mysql", "mysql.oracle.com", "mysql", ""},
	{"mongodb", DataOps, "mongo bitnami/mongodb", "mongodbcommunity.mongodb.com", "mongodb", ""},
	{"redis", DataOps, "redis bitnami/redis", "redis.redis.opstreelabs.in databases.spotahome.com", "redis", ""},
	{"valkey", DataOps, "valkey/valkey bitnami/valkey", "", "valkey", ""},
	{"minio", DataOps, "minio/minio minio/operator", "minio.min.io", "minio minio-operator", ""},
	{"seaweedfs", DataOps, "chrislusf/seaweedfs", "seaweed.seaweedfs.com", "seaweedfs", ""},
	{"strimzi", DataOps, "strimzi/operator strimzi/kafka", "strimzi.io", "kafka strimzi", ""},
	{"rabbitmq", DataOps, "rabbitmq rabbitmqoperator/cluster-operator", "rabbitmq.com", "rabbitmq rabbitmq-system", ""},
	{"nats", DataOps, "nats", "jetstream.nats.io", "nats", ""},
	{"dagster", DataOps, "dagster/dagster-k8s dagster/dagster-celery-k8s dagster/user-code-example", "", "dagster", ""},
	{"airflow", DataOps, "apache/airflow", "", "airflow", ""},
	{"prefect", DataOps, "prefecthq/prefect", "", "prefect", ""},
	{"mlflow", DataOps, "mlflow/mlflow", "", "mlflow", ""},
	{"kubeflow", DataOps, "kubeflow/training-operator", "kubeflow.org", "kubeflow", ""},
	{"kserve", DataOps, "kserve/kserve-controller", "serving.kserve.io", "kserve", ""},
	{"marquez", DataOps, "marquezproject/marquez marquezproject/marquez-web", "", "marquez", ""},
	{"openmetadata", DataOps, "openmetadata/server", "", "openmetadata", ""},
	{"spark-operator", DataOps, "kubeflow/spark-operator apache/spark-kubernetes-operator", "sparkoperator.k8s.io spark.apache.org", "spark spark-operator", ""},
	{"flink-operator", DataOps, "apache/flink-kubernetes-operator", "flink.apache.org", "flink", ""},
	{"ray", DataOps, "kuberay/operator", "ray.io", "ray", "kuberay-operator"},
	{"trino", DataOps, "trinodb/trino", "", "trino", ""},
	{"clickhouse", DataOps, "clickhouse/clickhouse-server altinity/clickhouse-operator", "clickhouse.altinity.com", "clickhouse", ""},
	{"superset", DataOps, "apache/superset", "", "superset", ""},
	{"metabase", DataOps, "metabase/metabase", "", "metabase", ""},
	{"jupyterhub", DataOps, "jupyterhub/k8s-hub", "", "jupyterhub", ""},
	{"nifi", DataOps, "apache/nifi", "", "nifi", ""},

	// The rest: access, security, backup, tools.
	{"kubernetes-dashboard", Rest, "kubernetesui/dashboard kubernetesui/dashboard-web kubernetesui/dashboard-api kubernetesui/dashboard-auth", "", "kubernetes-dashboard", ""},
	{"headlamp", Rest, "headlamp-k8s/headlamp", "", "headlamp", ""},
	{"rancher", Rest, "rancher/rancher rancher/rancher-agent", "management.cattle.io catalog.cattle.io provisioning.cattle.io", "cattle-system", ""},
	{"keycloak", Rest, "keycloak/keycloak bitnami/keycloak", "k8s.keycloak.org", "keycloak", ""},
	{"dex", Rest, "dexidp/dex", "dex.coreos.com", "dex", ""},
	{"authentik", Rest, "goauthentik/server", "", "authentik", ""},
	{"oauth2-proxy", Rest, "oauth2-proxy/oauth2-proxy", "", "oauth2-proxy", ""},
	{"vault", Rest, "hashicorp/vault hashicorp/vault-k8s", "secrets.hashicorp.com", "vault", ""},
	{"openbao", Rest, "openbao/openbao", "", "openbao", ""},
	{"harbor", Rest, "goharbor/harbor-core goharbor/harbor-portal goharbor/harbor-registryctl", "goharbor.io", "harbor", ""},
	{"registry", Rest, "registry distribution/distribution", "", "registry", "docker-registry"},
	{"mailpit", Rest, "axllent/mailpit", "", "mailpit mail", ""},
	{"velero", Rest, "velero/velero", "velero.io", "velero", ""},
	{"k8up", Rest, "k8up-io/k8up", "k8up.io", "k8up", ""},
	{"kyverno", Rest, "kyverno/kyverno kyverno/background-controller kyverno/cleanup-controller kyverno/reports-controller", "kyverno.io wgpolicyk8s.io", "kyverno", ""},
	{"gatekeeper", Rest, "openpolicyagent/gatekeeper", "gatekeeper.sh", "gatekeeper-system", ""},
	{"falco", Rest, "falcosecurity/falco", "", "falco", ""},
	{"trivy-operator", Rest, "aquasecurity/trivy-operator", "aquasecurity.github.io", "trivy-system", ""},
	{"kubevirt", Rest, "kubevirt/virt-operator kubevirt/virt-controller kubevirt/virt-api kubevirt/virt-handler", "kubevirt.io", "kubevirt cdi", ""},
	{"knative", Rest, "knative/serving/cmd/controller", "knative.dev", "knative-serving knative-eventing", ""},
	{"keda", Rest, "kedacore/keda", "keda.sh", "keda", "keda-operator"},
	{"descheduler", Rest, "descheduler/descheduler", "", "descheduler", ""},
	{"reloader", Rest, "stakater/reloader", "", "reloader", ""},
	{"reflector", Rest, "emberstack/kubernetes-reflector", "", "reflector", ""},
	{"homepage", Rest, "gethomepage/homepage", "", "homepage", ""},
}

// helpers are the images of containers that stand beside the one that counts.
var helpers = rule{name: "sidecar", images: `sig-storage/csi-provisioner sig-storage/csi-attacher sig-storage/csi-resizer
	sig-storage/csi-snapshotter sig-storage/csi-node-driver-registrar sig-storage/livenessprobe csiaddons/k8s-sidecar
	kiwigrid/k8s-sidecar brancz/kube-rbac-proxy kubebuilder/kube-rbac-proxy oauth2-proxy/oauth2-proxy
	prometheus-operator/prometheus-config-reloader istio/proxyv2 linkerd/proxy`}

// parts are the components that others bring along: one that is labelled as
// part of another is that one's.
const parts = " redis valkey postgresql mariadb mysql mongodb rabbitmq elastic minio "

// system are the namespaces of Kubernetes itself.
const system = "kube-system kube-public kube-node-lease default"

var (
	byImage  = index(func(r rule) string { return r.images })
	byGroup  = index(func(r rule) string { return r.groups })
	byPlaces = index(func(r rule) string { return r.namespaces })
	byName   = index(func(r rule) string { return r.name + " " + r.labels })
	sidecars = func() map[string]*rule {
		known := map[string]*rule{}
		for _, image := range strings.Fields(helpers.images) {
			known[image] = &helpers
		}
		return known
	}()
)

func index(words func(rule) string) map[string]*rule {
	known := map[string]*rule{}
	for i := range rules {
		for _, word := range strings.Fields(words(rules[i])) {
			known[word] = &rules[i]
		}
	}
	return known
}

// ruleOfGroup is the rule of an API group, or of the longest ending of it
// that is known: source.toolkit.fluxcd.io is fluxcd.io's.
func ruleOfGroup(group string) *rule {
	for ending := group; ending != ""; _, ending, _ = strings.Cut(ending, ".") {
		if r := byGroup[ending]; r != nil {
			return r
		}
	}
	return nil
}

// layerOfNamespace is the layer that a namespace belongs to by custom, "" for
// a name that says nothing.
func layerOfNamespace(name string) string {
	for _, s := range strings.Fields(system) {
		if name == s {
			return Socle
		}
	}
	if r := byPlaces[name]; r != nil {
		return r.layer
	}
	return ""
}
