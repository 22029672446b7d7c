# A real Kubernetes API without containers: see docs/controlplane.md.
# The first build compiles kube-apiserver (minutes); later ones take seconds.

.PHONY: controlplane-build controlplane controlplane-test

controlplane-build: ## Build bin/controlplane and bin/kubectl
	@begin=$$(date +%s); \
	version=$$(go -C bench/controlplane list -m -f '{{.Version}}' k8s.io/kubernetes) && \
	minor=$${version#v1.} && \
	x='-X k8s.io/component-base/version' && \
	go -C bench/controlplane build -o ../../bin/ \
		-ldflags "-s -w $$x.gitVersion=$$version $$x.gitMajor=1 $$x.gitMinor=$${minor%%.*}" \
		. k8s.io/kubernetes/cmd/kubectl && \
	echo "controlplane-build: $$version in $$(($$(date +%s) - begin)) s"

controlplane: controlplane-build ## Run a real Kubernetes API with sample data until Ctrl-C
	@mkdir -p .work
	@echo 'Starting. When it is ready, in another terminal:'
	@echo '  export KUBECONFIG=$(CURDIR)/.work/controlplane.kubeconfig'
	@echo '  bin/kubectl get svc,endpointslices -A        # note the ports the server chose'
	@echo '  bin/kubectl get nodes -o wide'
	@echo '  bin/kubectl create token reader -n portal    # a least-privilege identity'
	@echo '  bin/kubectl auth can-i get secrets --as system:serviceaccount:portal:reader'
	@echo '  bin/controlplane seed --kubeconfig "$$KUBECONFIG" YOUR.yaml'
	@exec bin/controlplane --dir .work/controlplane --kubeconfig '$(CURDIR)/.work/controlplane.kubeconfig' \
		--seed bench/controlplane/sample/crds.yaml \
		--seed bench/controlplane/sample/cluster.yaml \
		--seed bench/controlplane/sample/services.yaml

controlplane-test: controlplane-build ## Test the control plane and its helpers against the built binary
	go -C bench/controlplane test ./seed
	go test -tags integration ./bench/cptest ./bench/faultproxy
	go test -tags integration -run 'Real|TestState_|TestProbe_' ./cmd/nestor
