package kubeconfig_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/pki"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
	"github.com/nestor-tools/nestor/nodeexec/kubeconfig"
)

func TestServers(t *testing.T) {
	ca := pki.New(t, "kubernetes")
	for _, test := range []struct {
		name, own string
		place     kubeconfig.Place
		want      string // several: the order in which they are tried
	}{
		{"Lima", "https://192.168.5.15:6443", kubeconfig.Place{Transport: inventory.TransportLima, Host: "cp1"}, "https://127.0.0.1:6443"},
		{"Lima, another port", "https://192.168.5.15:6443", kubeconfig.Place{Transport: inventory.TransportLima, APIPort: 16443}, "https://127.0.0.1:16443"},
		{"Lima, microk8s' own port", "https://127.0.0.1:16443", kubeconfig.Place{Transport: inventory.TransportLima}, "https://127.0.0.1:6443"},
		{"Lima, told", "https://127.0.0.1:6443", kubeconfig.Place{Transport: inventory.TransportLima, Server: "lb:443"}, "https://lb:443"},
		{"Lima forwards, whatever the endpoint", "https://127.0.0.1:6443", kubeconfig.Place{Transport: inventory.TransportLima, ClusterEndpoint: "192.0.2.9"}, "https://127.0.0.1:6443"},
		{"k3s by ssh", "https://127.0.0.1:6443", kubeconfig.Place{Transport: inventory.TransportSSH, Host: "192.0.2.1"}, "https://192.0.2.1:6443"},
		{"microk8s by ssh keeps its port", "https://127.0.0.1:16443", kubeconfig.Place{Transport: inventory.TransportSSH, Host: "192.0.2.1"}, "https://192.0.2.1:16443"},
		{"k0s by ssh", "https://localhost:6443", kubeconfig.Place{Host: "cp1.example.org"}, "https://cp1.example.org:6443"},
		{"IPv6 loopback", "https://[::1]:6443", kubeconfig.Place{Host: "2001:db8::1"}, "https://[2001:db8::1]:6443"},
		{"the node's own address", "https://192.0.2.1:6443", kubeconfig.Place{Host: "192.0.2.1"}, "https://192.0.2.1:6443"},
		{"another address: shared, or of an inner network", "https://192.0.2.9:6443", kubeconfig.Place{Host: "192.0.2.1"}, "https://192.0.2.9:6443 https://192.0.2.1:6443"},
		{"the inventory's", "https://192.0.2.1:6443", kubeconfig.Place{Host: "192.0.2.1", ClusterEndpoint: "vip.example.org"}, "https://vip.example.org:6443"},
		{"the inventory's, a URL", "https://192.0.2.1:6443", kubeconfig.Place{Host: "192.0.2.1", ClusterEndpoint: "https://vip.example.org"}, "https://vip.example.org"},
		{"the inventory's, IPv6", "https://192.0.2.1:6443", kubeconfig.Place{Host: "192.0.2.1", ClusterEndpoint: "2001:db8::9"}, "https://[2001:db8::9]:6443"},
		{"told, IPv6", "https://192.0.2.1:6443", kubeconfig.Place{Server: "[2001:db8::9]:7443"}, "https://[2001:db8::9]:7443"},
		{"told, IPv6 in brackets", "https://192.0.2.1:6443", kubeconfig.Place{Server: "[2001:db8::9]", APIPort: 7443}, "https://[2001:db8::9]:7443"},
		{"told, a zone", "https://192.0.2.1:6443", kubeconfig.Place{Server: "fe80::1%eth0"}, "https://[fe80::1%25eth0]:6443"},
		{"told, a path", "https://192.0.2.1:6443", kubeconfig.Place{Server: "https://rancher/k8s/clusters/c-1/"}, "https://rancher/k8s/clusters/c-1"},
		{"this machine", "https://127.0.0.1:6443", kubeconfig.Place{Transport: inventory.TransportLocal}, "https://127.0.0.1:6443"},
		{"no port", "https://k8s.example.org", kubeconfig.Place{Host: "192.0.2.1"}, "https://k8s.example.org https://192.0.2.1:443"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := kubeconfig.Parse([]byte(ca.AdminConf(t, test.own, pki.NextYear())), time.Now())
			require.NoError(t, err)
			got, err := kubeconfig.Fetched{Node: "cp1", Config: c}.Servers(test.place)
			require.NoError(t, err)
			assert.Equal(t, test.want, strings.Join(got, " "))
		})
	}
}

func TestServersRefuses(t *testing.T) {
	c, err := kubeconfig.Parse([]byte(pki.New(t, "x").AdminConf(t, "https://127.0.0.1:6443", pki.NextYear())), time.Now())
	require.NoError(t, err)
	for server, want := range map[string]string{
		"http://vip:6443":        "is not https",
		"https://":               "is no URL",
		"https://me:SECRET@vip":  "a URL with a user in it is not taken",
		"https://vip?x=1":        "holds more than an address",
		"vip:":                   "has no good port",
		"vip:0":                  "has no good port",
		"vip:65536":              "has no good port",
		"vip:https":              "has no good port",
		"a b":                    "is no host",
		"-vip":                   "is no host",
		"{{ vip }}":              "is no host",
		"vip/path":               "is no host",
		"1:2:3":                  "is neither a host",
		"https://vip\n":          "is no URL",
		"https://{{ vip }}:6443": "is no URL",
	} {
		_, err := kubeconfig.Fetched{Node: "cp1", Config: c}.Servers(kubeconfig.Place{Server: server})
		if assert.ErrorContains(t, err, want, server) {
			assert.NotContains(t, err.Error(), "SECRET")
		}
	}
	_, err = kubeconfig.Fetched{Config: c}.Servers(kubeconfig.Place{Host: "vip", APIPort: 70000})
	assert.ErrorContains(t, err, "70000")
	_, err = kubeconfig.Fetched{Node: "cp1", Config: c}.Servers(kubeconfig.Place{Host: "vip", ClusterEndpoint: "x y"})
	assert.ErrorContains(t, err, "cluster_endpoint: ")
	_, err = kubeconfig.Fetched{Node: "cp1", Config: c}.Servers(kubeconfig.Place{Host: "x y"})
	assert.ErrorContains(t, err, "cp1: its address: ")
}
