// Package nft reads one base chain as "nft -j list chain" prints it.
//
//	{"nftables": [{"metainfo": {}},
//	  {"chain": {"family": "inet", "table": "filter", "name": "input", "hook": "input", "policy": "drop"}}]}
//
// An answer without a chain is refused.
package nft

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Chain is a base chain and what becomes of a packet that no rule takes.
type Chain struct {
	Family string `json:"family"`
	Table  string `json:"table"`
	Name   string `json:"name"`
	Hook   string `json:"hook"`
	Policy string `json:"policy"`
	// Final is "drop" or "reject" when the last rule is one without a
	// condition; it then counts, whatever the policy.
	Final string `json:"final,omitempty"`
}

// Parse reads the answer.
func Parse(b []byte) (Chain, error) {
	var doc struct {
		Nftables []struct {
			Chain *Chain
			Rule  *struct{ Expr []map[string]json.RawMessage }
		}
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return Chain{}, fmt.Errorf("nft wrote JSON that nestor cannot read: %w", err)
	}
	var chain *Chain
	final := ""
	for _, item := range doc.Nftables {
		if item.Chain != nil && chain == nil {
			chain = item.Chain
		}
		if item.Rule != nil {
			final = verdict(item.Rule.Expr)
		}
	}
	if chain == nil {
		return Chain{}, errors.New("nft printed no chain")
	}
	chain.Final = final
	return *chain, nil
}

// verdict is what a rule does with every packet: "" where it has a condition
// or does something else. Counters and logs are no condition.
func verdict(expr []map[string]json.RawMessage) string {
	found := ""
	for _, e := range expr {
		for kind := range e {
			switch kind {
			case "counter", "log", "comment":
			case "drop", "reject":
				found = kind
			default:
				return ""
			}
		}
	}
	return found
}

// Closed says whether what no rule takes is dropped or rejected.
func (c Chain) Closed() bool { return c.Policy == "drop" || c.Final != "" }
