package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// tree is the size of a generated platform.
type tree struct {
	files int
	bytes int // of each file, about
}

// generate writes a platform that keeps its contract: for each application a
// Deployment, a ClusterIP Service and a ConfigMap with what vendored bundles
// are full of, custom resource definitions in every tenth file, and a NodePort
// Service for every fiftieth, which the contract promises. The same size
// gives the same bytes.
func generate(dir string, size tree) error {
	random := rand.New(rand.NewPCG(1, 2))
	var promised bytes.Buffer
	promised.WriteString("contract_version: \"1.0\"\nendpoints:\n")
	for i := range size.files {
		var b bytes.Buffer
		app, ns := fmt.Sprintf("app-%05d", i), fmt.Sprintf("ns-%03d", i%200)
		fmt.Fprintf(&b, service, app, ns, app)
		fmt.Fprintf(&b, deployment, app, ns, app, app)
		if i%50 == 0 {
			fmt.Fprintf(&b, nodePort, app, ns, app)
			fmt.Fprintf(&promised, "  - {id: %s, service: %s, namespace: %s, port: 80, protocol: http, exposed: true, source: apps/%03d}\n", app, app, ns, i/50)
		}
		if i%10 == 0 {
			fmt.Fprintf(&b, "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things%d.example.org\nspec:\n  schema:\n    openAPIV3Schema:\n      properties:\n", i)
			for n := 0; b.Len() < size.bytes; n++ {
				fmt.Fprintf(&b, "        field%d:\n          description: what this field is for, in one sentence of the usual length, number %d\n          type: string\n          enum: [one, two, \"three\"]\n", n, random.IntN(1000))
			}
		} else {
			fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  namespace: %s\ndata:\n", app, ns)
			for n := 0; b.Len() < size.bytes; n++ {
				if n%8 == 0 {
					fmt.Fprintf(&b, "  file%d.conf: |\n    # a file\n    key = %d\n    other = \"a: b\"\n", n, random.IntN(1000))
				} else {
					fmt.Fprintf(&b, "  KEY_%d: \"value %d of a setting\"\n", n, random.IntN(1000))
				}
			}
		}
		name := filepath.Join(dir, "apps", fmt.Sprintf("%03d", i/50), app+".yaml")
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "contract"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "contract", "endpoints.yaml"), promised.Bytes(), 0o644)
}

const service = `apiVersion: v1
kind: Service
metadata:
  name: %s
  namespace: %s
spec:
  selector:
    app: %s
  ports:
    - name: http
      port: 80
      targetPort: ui
`

const nodePort = `---
apiVersion: v1
kind: Service
metadata:
  name: %s-nodeport
  namespace: %s
spec:
  type: NodePort
  selector:
    app: %s
  ports:
    - name: http
      port: 80
      targetPort: ui
`

const deployment = `---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: %s
  namespace: %s
spec:
  replicas: 2
  selector:
    matchLabels:
      app: %s
  template:
    metadata:
      labels:
        app: %s
    spec:
      securityContext:
        runAsNonRoot: true
      containers:
        - name: app
          image: registry.example.org/app:1.2.3
          args: ["--listen", ":3000"]
          ports:
            - name: ui
              containerPort: 3000
          resources:
            requests: {cpu: 25m, memory: 64Mi}
            limits: {memory: 128Mi}
`
