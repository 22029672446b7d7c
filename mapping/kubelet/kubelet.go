// Package kubelet tells which settings a kubelet runs with.
//
//	apiVersion: kubelet.config.k8s.io/v1beta1
//	kind: KubeletConfiguration
//	authentication:
//	  anonymous: {enabled: false}
//
// They come from three places, each over the one before: the file of
// --config, the drop-ins of --config-dir, the command line. Without --config
// the kubelet's old, open defaults hold; with it, those of the file's format.
// [Parse] refuses what is no KubeletConfiguration.
package kubelet

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// File is one configuration file, as its tree.
type File map[string]any

// Parse reads a configuration file or a drop-in.
func Parse(b []byte) (File, error) {
	var (
		document yaml.Node
		f        map[string]any // not File: nested tables take the outermost one's type
	)
	err := yaml.Unmarshal(b, &document)
	if err == nil && !document.IsZero() {
		err = document.Decode(&f)
	}
	if err != nil {
		return nil, fmt.Errorf("the kubelet's configuration: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	if kind, _ := f["kind"].(string); kind != "KubeletConfiguration" {
		return nil, fmt.Errorf("the kubelet's configuration is of kind %.40q", kind)
	}
	return f, nil
}

// Flags are the command line's, by name without dashes.
type Flags map[string]string

// ParseFlags reads a command line of one argument a line. Of a flag given
// twice the last counts; one without a value is "true".
func ParseFlags(b []byte) Flags {
	flags := Flags{}
	words := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	for i, word := range words {
		name, ok := strings.CutPrefix(word, "--")
		if !ok {
			continue
		}
		name, value, given := strings.Cut(name, "=")
		if !given {
			value = "true"
			if i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
				value = words[i+1]
			}
		}
		flags[strings.ReplaceAll(name, "_", "-")] = value
	}
	return flags
}

// ParseEnv reads kubeadm-flags.env: KUBELET_KUBEADM_ARGS="--a=b --c=d".
func ParseEnv(b []byte) Flags {
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "KUBELET_KUBEADM_ARGS="); ok {
			return ParseFlags([]byte(strings.Join(strings.Fields(strings.Trim(value, `"'`)), "\n")))
		}
	}
	return Flags{}
}

// Config is the settings that matter to nestor, as the kubelet holds them.
type Config struct {
	AnonymousAuth     bool   `json:"anonymous_auth"`
	AuthorizationMode string `json:"authorization_mode"`
	ReadOnlyPort      int    `json:"read_only_port"` // 0: closed
	CgroupDriver      string `json:"cgroup_driver"`
	RuntimeEndpoint   string `json:"runtime_endpoint,omitempty"` // empty: the kubelet's default
	StaticPodPath     string `json:"static_pod_path,omitempty"`
}

// Merge gives the effective settings. files are the file of --config, if
// there is one, and then the drop-ins in their order.
//
// The defaults were read in kubernetes/pkg/kubelet/apis/config/v1beta1 and
// cmd/kubelet/app/options.
func Merge(files []File, flags Flags) Config {
	c := Config{AnonymousAuth: true, AuthorizationMode: "AlwaysAllow", ReadOnlyPort: 10255, CgroupDriver: "cgroupfs"}
	if len(files) > 0 {
		c.AnonymousAuth, c.AuthorizationMode, c.ReadOnlyPort = false, "Webhook", 0
	}
	merged := map[string]any{}
	for _, f := range files {
		merged = overlay(merged, f)
	}
	set(merged, &c.AnonymousAuth, "authentication", "anonymous", "enabled")
	set(merged, &c.AuthorizationMode, "authorization", "mode")
	set(merged, &c.ReadOnlyPort, "readOnlyPort")
	set(merged, &c.CgroupDriver, "cgroupDriver")
	set(merged, &c.RuntimeEndpoint, "containerRuntimeEndpoint")
	set(merged, &c.StaticPodPath, "staticPodPath")

	if v, err := strconv.ParseBool(flags["anonymous-auth"]); err == nil {
		c.AnonymousAuth = v
	}
	if v, err := strconv.Atoi(flags["read-only-port"]); err == nil {
		c.ReadOnlyPort = v
	}
	for name, field := range map[string]*string{
		"authorization-mode": &c.AuthorizationMode, "cgroup-driver": &c.CgroupDriver,
		"container-runtime-endpoint": &c.RuntimeEndpoint, "pod-manifest-path": &c.StaticPodPath,
	} {
		if v := flags[name]; v != "" {
			*field = v
		}
	}
	return c
}

// overlay puts one tree over another: tables are merged, all else replaced,
// and null takes away, as in a JSON merge patch.
func overlay(under, over map[string]any) map[string]any {
	result := maps.Clone(under)
	for _, key := range slices.Sorted(maps.Keys(over)) {
		value := over[key]
		table, isTable := value.(map[string]any)
		below, wasTable := result[key].(map[string]any)
		switch {
		case value == nil:
			delete(result, key)
		case isTable && wasTable:
			result[key] = overlay(below, table)
		default:
			result[key] = value
		}
	}
	return result
}

// set takes the value at the end of path, where there is one of field's type.
func set[T any](tree map[string]any, field *T, path ...string) {
	for _, key := range path[:len(path)-1] {
		sub, ok := tree[key].(map[string]any)
		if !ok {
			return
		}
		tree = sub
	}
	if v, ok := tree[path[len(path)-1]].(T); ok {
		*field = v
	}
}
