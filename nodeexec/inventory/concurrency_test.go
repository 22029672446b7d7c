package inventory

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestConcurrentUse shows nothing without the race detector.
func TestConcurrentUse(t *testing.T) {
	files := map[string]string{"hosts.yaml": "all: {hosts: {'h[1:8]': }}\ng: {hosts: {'h[1:8]': }}", "group_vars/g.yml": "ansible_user: u", "group_vars/g.json": "{}"}
	for i := range 8 {
		files[fmt.Sprintf("host_vars/h%d", i+1)] = fmt.Sprintf("ansible_port: %d", i+1)
	}
	inv := open(t, files)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			target, err := inv.Target(fmt.Sprintf("h%d", i+1), "")
			assert.NoError(t, err)
			assert.Equal(t, i+1, target.Port)
			_, err = inv.Explain(target.Node)
			assert.NoError(t, err)
			_, err = inv.Select("")
			assert.NoError(t, err)
			inv.Warnings()
		})
	}
	wg.Wait()
	assert.Len(t, inv.Warnings(), 1)
}
