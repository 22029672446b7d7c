package serve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/nestor-tools/nestor/contract"
)

// mostContractBytes is far above any contract that people write.
const mostContractBytes = 8 << 20

// Contract is a contract that follows its file.
type Contract struct {
	name string

	mu      sync.Mutex
	present *contract.Contract
	read    []byte // that present, or problem, is from
	problem string
	reloads int
	broken  int
}

// OpenContract reads the contract name, a file or the folder that holds it.
// One that is faulty in part is taken, and Problem says so; one that cannot be
// read at all is an error.
func OpenContract(name string) (*Contract, error) {
	c := &Contract{name: name}
	c.Reload()
	if c.present == nil {
		return nil, fmt.Errorf("read the contract: %s", c.problem)
	}
	return c, nil
}

// Present gives the contract that holds, and what is wrong with the file since;
// "" where it is that of the file, without a fault.
func (c *Contract) Present() (present *contract.Contract, problem string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.present, c.problem
}

// counts gives how often the contract was replaced, and a faulty one refused.
func (c *Contract) counts() (reloads, broken int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reloads, c.broken
}

// Reload reads the file again where it changed, and tells whether Present has
// changed. A contract with an error in it does not replace one without.
func (c *Contract) Reload() bool {
	b, shown, err := readContract(c.name)
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.problem
	if err != nil {
		// While a ConfigMap is being replaced its file may be missing.
		c.read, c.problem = nil, err.Error()
		return c.problem != before
	}
	if c.read != nil && bytes.Equal(b, c.read) {
		return false
	}
	c.read = b
	parsed, findings := contract.Parse(shown, b)
	c.problem = ""
	for _, f := range findings {
		if f.Severity == contract.Error {
			c.problem = fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message)
			break
		}
	}
	if parsed == nil && c.problem == "" {
		c.problem = shown + ": this is no contract"
	}
	switch {
	case c.problem == "":
		if c.present != nil {
			c.reloads++
		}
		c.present = parsed
	case c.present == nil: // better than none
		c.present = parsed
	default:
		c.broken++
		return c.problem != before
	}
	return true
}

// readContract gives the bytes of the contract, and the name of their file.
func readContract(name string) (b []byte, file string, err error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		names, err := contract.Files(os.DirFS(name), ".")
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", name, err)
		}
		name = filepath.Join(name, names[0])
	}
	opened, err := os.Open(name)
	if err != nil {
		return nil, "", err
	}
	defer opened.Close()
	b, err = io.ReadAll(io.LimitReader(opened, mostContractBytes+1))
	if err == nil && len(b) > mostContractBytes {
		err = fmt.Errorf("%s: larger than %d MiB", name, mostContractBytes>>20)
	}
	if err == nil && len(b) == 0 {
		err = errors.New(name + ": an empty file")
	}
	return b, filepath.ToSlash(name), err
}
