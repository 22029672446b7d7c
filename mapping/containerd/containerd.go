// Package containerd reads containerd's configuration, as "containerd config
// dump" prints it with all imports merged.
//
//	version = 2
//	[plugins."io.containerd.grpc.v1.cri"]
//	  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
//	    SystemdCgroup = true
//
// The same setting has another place in each version of the format: 1 and 2
// ([plugins."io.containerd.grpc.v1.cri"], or [plugins.cri] in 1), 3 and 4
// ([plugins."io.containerd.cri.v1.runtime"] and ...images"]). What is no TOML
// is refused, as is a version that nestor does not know: its places may be
// others again.
package containerd

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pelletier/go-toml/v2"
)

// Config is what nestor needs of it. Empty: not set, containerd's default
// holds.
type Config struct {
	Version       int
	CNIConfDir    string
	CNIMaxConf    *int64 // how many network configurations are loaded; nil: 1
	RegistryPath  string // folder, or several with ":" between, of hosts.toml files
	Mirrors       map[string][]string
	SystemdCgroup *bool // of the default runtime
}

// Parse reads the configuration. An empty file is version 1.
func Parse(b []byte) (Config, error) {
	var doc tree
	if err := toml.Unmarshal(b, &doc); err != nil {
		if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
			row, _ := decode.Position()
			return Config{}, fmt.Errorf("containerd's configuration, line %d: %w", row, err)
		}
		return Config{}, fmt.Errorf("containerd's configuration: %w", err)
	}
	c := Config{Version: 1}
	if v, ok := doc["version"].(int64); ok {
		c.Version = int(v)
	}
	var runtime, images tree
	switch plugins := doc.table("plugins"); c.Version {
	case 0, 1, 2:
		runtime = plugins.table("io.containerd.grpc.v1.cri")
		if runtime == nil {
			runtime = plugins.table("cri")
		}
		images = runtime
	case 3, 4:
		runtime = plugins.table("io.containerd.cri.v1.runtime")
		images = plugins.table("io.containerd.cri.v1.images")
	default:
		return Config{}, fmt.Errorf("containerd's configuration has version %d; nestor knows 1 to 4", c.Version)
	}
	cni := runtime.table("cni")
	c.CNIConfDir, _ = cni["conf_dir"].(string)
	if n, ok := cni["max_conf_num"].(int64); ok {
		c.CNIMaxConf = &n
	}
	registry := images.table("registry")
	c.RegistryPath, _ = registry["config_path"].(string)
	for host, mirror := range registry.table("mirrors") {
		table, _ := mirror.(map[string]any)
		endpoints, _ := table["endpoint"].([]any)
		for _, e := range endpoints {
			if url, ok := e.(string); ok {
				if c.Mirrors == nil {
					c.Mirrors = map[string][]string{}
				}
				c.Mirrors[host] = append(c.Mirrors[host], url)
			}
		}
	}
	containers := runtime.table("containerd")
	name, _ := containers["default_runtime_name"].(string)
	if name == "" {
		name = "runc"
	}
	if on, ok := containers.table("runtimes").table(name).table("options")["SystemdCgroup"].(bool); ok {
		c.SystemdCgroup = &on
	}
	return c, nil
}

// tree is a TOML table.
type tree map[string]any

// table gives the table of that name, nil where there is none.
func (t tree) table(name string) tree {
	sub, _ := t[name].(map[string]any)
	return sub
}

// ParseHosts reads a hosts.toml: the mirrors of one registry, in the order in
// which they are tried, which is that of the file.
func ParseHosts(b []byte) ([]string, error) {
	var doc tree
	if err := toml.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("hosts.toml: %w", err)
	}
	hosts := slices.Collect(maps.Keys(doc.table("host")))
	slices.SortFunc(hosts, func(a, b2 string) int { return bytes.Index(b, []byte(a)) - bytes.Index(b, []byte(b2)) })
	return hosts, nil
}
