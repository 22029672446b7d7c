package portal_test

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/portal"
)

// names are few, so that promises and objects meet; some are hostile.
var (
	anyName   = rapid.SampledFrom([]string{"web", "web-nodeport", "api", "api-nodeport", "a b", "x'; rm -rf ~; '", "--flag", "<secret>", `"><script>alert(1)</script>`, "é\u202e", "$(id)"})
	anySpace  = rapid.SampledFrom([]string{"app", "app", "app", "kube-system", "other", "'"})
	anyLabels = rapid.MapOfN(rapid.SampledFrom([]string{"app", "tier"}), rapid.SampledFrom([]string{"web", "api", "'$(id)"}), 0, 2)
	anyPort   = rapid.SampledFrom([]int{0, 80, 443, 3000, 8443, 65535})
	anyProto  = rapid.SampledFrom([]string{"", "TCP", "TCP", "UDP"})
	anyText   = rapid.SampledFrom([]string{"", "none", "token", "secret-admin", "secret-role", "secret-obc", "javascript:alert(1)", "<b>x</b>", "\x00", "a\nb"})
	anyHost   = rapid.SampledFrom([]string{"192.0.2.1", "192.0.2.2", "2001:db8::1", "fe80::1", "127.0.0.1", "n1", "n2", "javascript:x", "a/b", "", "evil.example/#"})
	anyState  = rapid.SampledFrom([]portal.SourceState{portal.Synced, portal.Synced, portal.Synced, portal.Stale, portal.Denied, portal.Unsynced, ""})
)

func anySnapshot(t *rapid.T) *portal.Snapshot {
	s := &portal.Snapshot{Schema: portal.SnapshotSchema, ObservedAt: observed, Sources: map[portal.Resource]portal.Source{}}
	for _, r := range []portal.Resource{portal.Services, portal.EndpointSlices, portal.Nodes, portal.Pods} {
		if rapid.IntRange(0, 9).Draw(t, "asked") > 0 {
			s.Sources[r] = portal.Source{State: anyState.Draw(t, "state"), Since: observed.Add(-time.Duration(rapid.IntRange(0, 100).Draw(t, "since")) * time.Second)}
		}
	}
	for range rapid.IntRange(0, 5).Draw(t, "services") {
		service := portal.Service{Namespace: anySpace.Draw(t, "ns"), Name: anyName.Draw(t, "name"), Selector: anyLabels.Draw(t, "selector"),
			Type:                  rapid.SampledFrom([]string{"", "ClusterIP", "NodePort", "NodePort", "LoadBalancer", "ExternalName"}).Draw(t, "type"),
			ExternalTrafficPolicy: rapid.SampledFrom([]string{"", "Cluster", "Local"}).Draw(t, "etp"),
			IPFamilies:            rapid.SampledFrom([][]string{nil, {"IPv4"}, {"IPv6", "IPv4"}}).Draw(t, "families")}
		for range rapid.IntRange(0, 3).Draw(t, "ports") {
			service.Ports = append(service.Ports, portal.ServicePort{Name: rapid.SampledFrom([]string{"", "http", "https"}).Draw(t, "port name"), Port: anyPort.Draw(t, "port"), Protocol: anyProto.Draw(t, "protocol"),
				NodePort: rapid.SampledFrom([]int{0, 30001, 30002, 32767}).Draw(t, "nodePort"), TargetPort: rapid.SampledFrom([]string{"", "8080", "http"}).Draw(t, "target"), AppProtocol: anyText.Draw(t, "appProtocol")})
		}
		if rapid.Bool().Draw(t, "external") {
			service.ExternalIPs = []string{anyHost.Draw(t, "externalIP")}
		}
		s.Services = append(s.Services, service)
		slice := portal.EndpointSlice{Namespace: service.Namespace, Name: "s", Service: service.Name}
		for _, p := range service.Ports {
			slice.Ports = append(slice.Ports, portal.SlicePort{Name: p.Name, Protocol: p.Protocol})
		}
		for range rapid.IntRange(0, 2).Draw(t, "endpoints") {
			e := portal.Endpoint{Node: rapid.SampledFrom([]string{"", "n1", "n2"}).Draw(t, "node")}
			if rapid.Bool().Draw(t, "says ready") {
				ready := rapid.Bool().Draw(t, "ready")
				e.Ready = &ready
			}
			slice.Endpoints = append(slice.Endpoints, e)
		}
		s.Slices = append(s.Slices, slice)
	}
	for range rapid.IntRange(0, 3).Draw(t, "nodes") {
		n := portal.Node{Name: anyHost.Draw(t, "node name"), Ready: rapid.Bool().Draw(t, "Ready"), Cordoned: rapid.Bool().Draw(t, "cordoned")}
		for range rapid.IntRange(0, 3).Draw(t, "addresses") {
			n.Addresses = append(n.Addresses, portal.Address{Type: rapid.SampledFrom([]string{"InternalIP", "ExternalIP", "Hostname", "Other"}).Draw(t, "address type"), Address: anyHost.Draw(t, "address")})
		}
		s.Nodes = append(s.Nodes, n)
	}
	for range rapid.IntRange(0, 3).Draw(t, "pods") {
		s.Pods = append(s.Pods, portal.Pod{Namespace: anySpace.Draw(t, "pod ns"), Name: anyName.Draw(t, "pod"), OwnerKind: rapid.SampledFrom([]string{"", "Deployment", "--x"}).Draw(t, "owner kind"), OwnerName: anyName.Draw(t, "owner"),
			Labels: anyLabels.Draw(t, "labels"), Node: rapid.SampledFrom([]string{"", "n1", "n2"}).Draw(t, "pod node"), Ready: rapid.Bool().Draw(t, "pod ready"), HostNetwork: rapid.Bool().Draw(t, "hostNetwork"),
			Ports: []portal.PodPort{{Port: anyPort.Draw(t, "pod port"), HostPort: rapid.SampledFrom([]int{0, 8443, 9100}).Draw(t, "hostPort"), HostIP: anyHost.Draw(t, "hostIP")}}})
	}
	return s
}

func anyContract(t *rapid.T) *contract.Contract {
	c := &contract.Contract{}
	for range rapid.IntRange(0, 4).Draw(t, "promises") {
		c.Endpoints = append(c.Endpoints, contract.Endpoint{
			ID: anyName.Draw(t, "id"), Service: anyName.Draw(t, "service"), Namespace: anySpace.Draw(t, "namespace"), Port: anyPort.Draw(t, "promised port"),
			Protocol: rapid.SampledFrom([]string{"", "http", "https", "tcp"}).Draw(t, "spoken"), Auth: anyText.Draw(t, "auth"), Layer: anyText.Draw(t, "layer"), Exposed: rapid.Bool().Draw(t, "exposed"),
			Scheme: rapid.SampledFrom([]string{"", "", "http", "https", "javascript", "file"}).Draw(t, "scheme"), Path: rapid.SampledFrom([]string{"", "/", "/x", "//evil.example", "javascript:alert(1)", "/%zz", "?q#f", "\\\\evil", "../.."}).Draw(t, "path"),
			Profil: rapid.SampledFrom([]string{"", "", "bench"}).Draw(t, "profile"), Login: anyText.Draw(t, "login"), Note: anyText.Draw(t, "note"), Role: anyName.Draw(t, "role"), Source: rapid.SampledFrom([]string{"", "a b.yaml", "-f.yaml", "'.yaml"}).Draw(t, "source"),
			Credential: contract.Credential{Secret: anyName.Draw(t, "secret"), Key: anyName.Draw(t, "key"), LoginKey: rapid.SampledFrom([]string{"", "user", "'"}).Draw(t, "login key")},
			Exposure:   contract.Exposing{Service: rapid.SampledFrom([]string{"", "", "web-nodeport", "'"}).Draw(t, "exposure"), HostPort: rapid.SampledFrom([]int{0, 0, 0, 8443}).Draw(t, "promised hostPort")},
		})
	}
	return c
}

func anyOptions(t *rapid.T) portal.Options {
	return portal.Options{Today: observed, Profile: rapid.SampledFrom([]string{"", "prod", "bench"}).Draw(t, "this profile"), BrowserHost: anyHost.Draw(t, "browser"),
		AccessHosts: rapid.SampledFrom([]map[string]string{nil, {"": "ui.example.org"}, {"": "javascript:x"}, {"web": "2001:db8::7"}}).Draw(t, "access hosts")}
}

// Whatever the cluster and the contract hold: a URL never stands beside
// MISSING, is http or https, leads to a port that was observed, and no command
// does more than it says.
func TestJudge_Properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, c, o := anySnapshot(t), anyContract(t), anyOptions(t)
		ports := map[int]bool{}
		for _, service := range s.Services {
			for _, p := range service.Ports {
				ports[p.NodePort] = true
			}
		}
		for _, pod := range s.Pods {
			for _, p := range pod.Ports {
				ports[p.HostPort] = true
			}
		}
		before, err := json.Marshal(s)
		require.NoError(t, err)
		v := portal.Judge(c, s, o)
		after, err := json.Marshal(s)
		require.NoError(t, err)
		require.Equal(t, string(before), string(after), "a snapshot is only read")
		require.Equal(t, v, portal.Judge(c, s, o), "the same world, the same view")

		promised := 0
		for _, layer := range v.Layers {
			require.NotEmpty(t, layer.Entries)
			for _, e := range layer.Entries {
				if layer.Name != portal.ExtraLayer && layer.Name != portal.SystemLayer {
					promised++
				}
				require.NotNil(t, e.Evidence)
				if e.URL == "" {
					require.Empty(t, e.Node)
				}
				if e.Verdict == portal.Missing || e.Verdict == portal.NotExpected || e.Verdict == portal.Extra {
					require.Empty(t, e.URL)
					require.Empty(t, e.Others)
				}
				if e.Verdict == portal.Match && e.Reason != portal.System {
					require.Equal(t, portal.Synced, s.Sources[portal.Services].State, "what is not known is not good")
				}
				if e.Verdict != portal.Match {
					require.NotEmpty(t, e.Reason)
				}
				for _, link := range append([]string{e.URL}, e.Others...) {
					if link == "" {
						continue
					}
					u, err := url.Parse(link)
					require.NoError(t, err)
					require.Contains(t, []string{"http", "https"}, u.Scheme)
					require.Nil(t, u.User)
					port, err := strconv.Atoi(u.Port())
					require.NoError(t, err)
					require.True(t, port > 0 && ports[port], "port %d was observed", port)
					require.NotContains(t, u.Host, "evil")
					host, ok := portal.Host(u.Hostname())
					require.True(t, ok, link)
					require.Equal(t, host, u.Hostname())
				}
				runnable(t, e.Remedy)
				runnable(t, e.Command)
				require.NotContains(t, e.Command, "<secret>")
			}
		}
		require.Equal(t, len(c.Endpoints), promised, "one entry for each promise")

		for _, lang := range portal.Languages() {
			var page strings.Builder
			require.NoError(t, portal.Page(&page, &v, portal.PageOptions{Lang: lang, Live: true}))
			require.NotContains(t, page.String(), "<script>alert")
			require.NotContains(t, page.String(), `href="javascript:`)
			require.NotContains(t, page.String(), "%!", "every sentence has what it speaks of")
			var text strings.Builder
			require.NoError(t, portal.WriteText(&text, &v, lang))
			require.NotContains(t, text.String(), "\x00")
		}
	})
}
