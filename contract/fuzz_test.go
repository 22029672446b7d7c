package contract_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/manifest"
)

// Whatever the contract and the manifests hold, every verb's work comes to an
// end without a panic, and what it says fits on lines.
func FuzzCheck(f *testing.F) {
	read := func(name string) string {
		b, err := os.ReadFile("testdata/base/" + name)
		if err != nil {
			f.Fatal(err)
		}
		return string(b)
	}
	promised := read("contract/endpoints.yaml")
	for _, name := range []string{"apps/web/web.yaml", "apps/web/nodeport.yaml", "apps/mail/mail.yaml", "apps/portal/portal.yaml", "policies/front.yaml", "apps/db/cluster.yaml"} {
		f.Add(promised, read(name))
	}
	f.Add("contract_version: 1\nendpoints: [{id: a, service: a, namespace: n, port: 1, exposed: true, source: ../..}]\naccept: [{kind: File, name: '[', reason: x}]\n", "a: {{ b }}\nkind: x\napiVersion: y\n")
	f.Fuzz(func(t *testing.T, promised, manifests string) {
		c, findings := contract.Parse("c.yaml", []byte(promised))
		if c == nil {
			return
		}
		set, tree := &contract.Set{Contract: c}, manifest.ReadBytes("m.yaml", []byte(manifests))
		options := contract.Options{Root: fstest.MapFS{}, Today: day}
		findings = append(findings, contract.Check(set, tree, options)...)
		for _, x := range findings {
			if strings.ContainsAny(x.Message+x.Remedy, "\n\r\x1b") {
				t.Fatalf("%+v", x)
			}
		}
		contract.NodePorts(set, tree, options)
		contract.Allowlist(set, tree, options)
		if len(c.Endpoints) > 0 {
			if _, err := contract.Explain(set, tree, options, findings, c.Endpoints[0].ID); err != nil {
				t.Fatal(err)
			}
		}
		if entries, _ := contract.Adopt(set, tree, options); len(entries) > 0 {
			if _, bad := contract.Parse("a.yaml", append([]byte("contract_version: '1'\naccept:\n"), contract.AcceptText(entries, 2)...)); contract.Unevaluated(bad) {
				t.Fatalf("%+v of %s", bad, contract.AcceptText(entries, 2))
			}
		}
	})
}
