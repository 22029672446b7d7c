package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

type object = map[string]any

// memory is an API server that answers from memory, for machines on which
// seeding a real one takes too long. It speaks JSON, which costs a client more
// than the protobuf of a real server; its Service s0 changes each second.
func memory(ctx context.Context, o options, kubeconfig string) error {
	lists := map[string][]byte{}
	list := func(resource, version, kind string, n int, item func(i int) object) error {
		items := make([]object, n)
		for i := range items {
			items[i] = item(i)
		}
		b, err := json.Marshal(object{"kind": kind + "List", "apiVersion": version, "metadata": object{"resourceVersion": "1"}, "items": items})
		lists[resource] = b
		return err
	}
	fields := []object{{"manager": "kubelet", "operation": "Update", "fieldsV1": object{"f:status": object{"f:conditions": object{"k:{\"type\":\"Ready\"}": object{}}}}}}
	image := strings.Repeat("registry.example.org/some/image/of/a/long/name", 100)
	err := list("nodes", "v1", "Node", o.nodes, func(i int) object {
		return object{
			"metadata": object{"name": fmt.Sprintf("n%d", i), "managedFields": fields},
			"status": object{
				"conditions": []object{{"type": "Ready", "status": []string{"True", "True", "True", "False"}[i%4]}},
				"addresses":  []object{{"type": "InternalIP", "address": fmt.Sprintf("10.9.%d.%d", i/250, i%250+1)}, {"type": "Hostname", "address": fmt.Sprintf("n%d", i)}},
				"images":     []object{{"names": []string{image}, "sizeBytes": 1000000}},
			},
		}
	})
	if err == nil {
		err = list("services", "v1", "Service", o.services, func(i int) object { return service(i, "Cluster", fields) })
	}
	if err == nil {
		err = list("endpointslices", "discovery.k8s.io/v1", "EndpointSlice", min(o.slices, o.services), func(i int) object {
			return object{
				"metadata":    object{"namespace": "large", "name": fmt.Sprintf("s%d-1", i), "labels": object{"kubernetes.io/service-name": fmt.Sprintf("s%d", i)}, "managedFields": fields},
				"addressType": "IPv4", "ports": []object{{"name": "http", "port": 8080, "protocol": "TCP"}},
				"endpoints": []object{
					{"addresses": []string{fmt.Sprintf("10.1.%d.%d", i/250, i%250+1)}, "conditions": object{"ready": true}, "nodeName": fmt.Sprintf("n%d", i%max(o.nodes, 1))},
					{"addresses": []string{fmt.Sprintf("10.2.%d.%d", i/250, i%250+1)}, "conditions": object{"ready": true}, "nodeName": fmt.Sprintf("n%d", (i+1)%max(o.nodes, 1))},
				},
			}
		})
	}
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		w.Header().Set("Content-Type", "application/json")
		switch {
		case resource == "selfsubjectaccessreviews":
			_ = json.NewEncoder(w).Encode(object{"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "metadata": object{}, "spec": object{}, "status": object{"allowed": false}})
		case r.URL.Query().Get("watch") == "":
			_, _ = w.Write(lists[resource])
		default:
			watch(w, r, resource, fields)
		}
	})}
	go func() { _ = server.Serve(listener) }()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return os.WriteFile(kubeconfig, fmt.Appendf(nil,
		`{apiVersion: v1, kind: Config, current-context: x, clusters: [{name: x, cluster: {server: "http://%s"}}], users: [{name: x, user: {}}], contexts: [{name: x, context: {cluster: x, user: x}}]}`,
		listener.Addr()), 0o600)
}

func service(i int, policy string, fields []object) object {
	port := object{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}
	spec := object{"type": "ClusterIP", "selector": object{"app": fmt.Sprintf("s%d", i)}, "ports": []object{port}}
	if i%25 == 0 {
		spec["type"], spec["externalTrafficPolicy"], port["nodePort"] = "NodePort", policy, 30000+i/25
	}
	return object{"kind": "Service", "apiVersion": "v1", "metadata": object{"namespace": "large", "name": fmt.Sprintf("s%d", i), "resourceVersion": "1", "managedFields": fields}, "spec": spec}
}

func watch(w http.ResponseWriter, r *http.Request, resource string, fields []object) {
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	for i := 0; ; i++ {
		select {
		case <-r.Context().Done():
			return
		case <-time.After(time.Second):
		}
		if resource == "services" {
			changed := service(0, []string{"Local", "Cluster"}[i%2], fields)
			_ = json.NewEncoder(w).Encode(object{"type": "MODIFIED", "object": changed})
			_ = http.NewResponseController(w).Flush()
		}
	}
}
