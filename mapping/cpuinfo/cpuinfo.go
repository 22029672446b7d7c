// Package cpuinfo reads /proc/cpuinfo.
//
//	processor	: 0
//	model name	: Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz
//	physical id	: 0
//	cpu cores	: 14
//
// The file differs between architectures: arm64 names no model and no socket,
// which then stay empty and 0. A file without a processor is refused.
package cpuinfo

import (
	"errors"
	"strconv"
	"strings"
)

// CPU is the processors that are online.
type CPU struct {
	Threads    int    `json:"threads"`           // what the scheduler sees
	Cores      int    `json:"cores,omitempty"`   // 0: the file does not tell
	Sockets    int    `json:"sockets,omitempty"` // 0: the file does not tell
	Model      string `json:"model,omitempty"`   // of the first processor
	Hypervisor bool   `json:"hypervisor"`        // x86 says that it is a guest
}

// Parse reads the file.
func Parse(b []byte) (CPU, error) {
	var c CPU
	cores := map[string]int{} // by socket
	socket := ""
	for line := range strings.Lines(string(b)) {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if strings.HasPrefix(key, "processor ") { // s390x: "processor 0: version = ..."
			key, value = "processor", strings.TrimPrefix(key, "processor ")
		}
		switch key {
		case "processor":
			if _, err := strconv.Atoi(value); err == nil {
				c.Threads++
			}
		case "model name", "Model", "cpu model":
			if c.Model == "" {
				c.Model = strings.Join(strings.Fields(value), " ")
			}
		case "physical id":
			socket = value
			cores[socket] += 0
		case "cpu cores":
			if n, err := strconv.Atoi(value); err == nil && n > 0 {
				cores[socket] = n
			}
		case "flags":
			c.Hypervisor = c.Hypervisor || strings.Contains(" "+value+" ", " hypervisor ")
		}
	}
	if c.Threads == 0 {
		return CPU{}, errors.New("/proc/cpuinfo names no processor")
	}
	c.Sockets = len(cores)
	for _, n := range cores {
		c.Cores += n
	}
	return c, nil
}
