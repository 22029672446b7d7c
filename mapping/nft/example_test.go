package nft_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/nft"
)

func ExampleParse() {
	chain, err := nft.Parse([]byte(`{"nftables": [{"chain": {"family": "inet", "table": "filter", "name": "input", "hook": "input", "policy": "drop"}}]}`))
	fmt.Println(chain.Table, chain.Name, chain.Closed(), err)
	// Output: filter input true <nil>
}
