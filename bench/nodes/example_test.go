package nodes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/nestor-tools/nestor/bench/nodes"
)

// Outside a test, a bench runs until it is taken down, by this program or by
// another one that knows its folder.
func ExampleUp() {
	ctx := context.Background()
	b, err := nodes.Up(ctx, "/tmp/bench", nodes.Spec{Nodes: []nodes.Node{
		{Name: "jump"},
		{Name: "node1", Behind: "jump", Shell: "zsh"},
	}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("try: ansible all -m ping -i", b.InventoryPath)
	if err := nodes.Down(ctx, "/tmp/bench"); err != nil {
		log.Fatal(err)
	}
}
