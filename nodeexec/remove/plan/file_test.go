package plan

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// aPlan is a plan with everything in it.
func aPlan(t testing.TB) Plan {
	t.Helper()
	w := newWorld()
	w.rook = Rook{State: "present", Entries: []string{"mon-a"}, FSIDs: []string{ours}}
	sdb := w.get("sdb")
	sdb.sigs, sdb.wwn, sdb.byID = nil, "0x5000", []string{"wwn-0x5000"}
	sdb.sign("LVM2_member")
	w.add(&thing{name: "dm-0", dm: "vg-lv", dmUUID: "LVM-uuid1x", kind: "lvm", parents: []string{"sdb"}, osd: "osd-1", fsid: ours})
	w.pvs = []PV{{"sdb", "vg", "uuid1"}}
	w.add(&thing{name: "vdc", kind: "disk", ends: "e"}).sign("ext4")
	loop(w)
	n, refusals := attempt(w, profileOf("/dev/sdb", "/dev/vdc", "/dev/loop0"), inventory.Lima)
	require.Empty(t, refusals)
	n.Identity.Address, n.Identity.TargetDigest = "192.0.2.7", strings.Repeat("ab", 32)
	n.LeftAlone = append(n.LeftAlone, LeftAlone(w.facts(), nil)...)
	return Plan{TargetKind: "lima", StackID: "s1", CephFSIDs: []string{ours}, Reboot: true, Nodes: []Node{n}}
}

func TestEncode_KeepsToTheSchema(t *testing.T) {
	compiled, err := jsonschema.NewCompiler().Compile("../../../docs/schema/plan.v1.json")
	require.NoError(t, err)
	file, err := Encode(aPlan(t))
	require.NoError(t, err)
	var value any
	require.NoError(t, json.Unmarshal(file, &value))
	require.NoError(t, compiled.Validate(value))

	text, err := os.ReadFile("../../../docs/schema/plan.v1.json")
	require.NoError(t, err)
	for verb := range arguments {
		require.Contains(t, string(text), `"`+string(verb)+`"`)
		require.NotEmpty(t, meaning[verb])
	}
}

func last(p *Plan) *Step { return &p.Nodes[0].Steps[len(p.Nodes[0].Steps)-2] }

func TestDecode_RefusesWhatNoMakeHasMade(t *testing.T) {
	good, err := Encode(aPlan(t))
	require.NoError(t, err)
	_, err = Decode(good)
	require.NoError(t, err)
	for name, edit := range map[string]func(*Plan){
		"no node":                func(p *Plan) { p.Nodes = nil },
		"another machine":        func(p *Plan) { p.Nodes[0].Identity.MachineID = strings.Repeat("f", 32) },
		"another disk":           func(p *Plan) { p.Nodes[0].Disks[0].Path = "/dev/sda" },
		"one disk more":          func(p *Plan) { p.Nodes[0].Disks = append(p.Nodes[0].Disks, Disk{}) },
		"a cut state":            func(p *Plan) { p.Nodes[0].State = p.Nodes[0].State[:3] },
		"a step within a line":   func(p *Plan) { p.Nodes[0].State[0] += "\nstep\t1\tremove-folder" },
		"a step within a word":   func(p *Plan) { p.Nodes[0].Steps[0].Args[0] += "\nstep" },
		"an argument too many":   func(p *Plan) { p.Nodes[0].Steps[0].Args = append(p.Nodes[0].Steps[0].Args, "sda") },
		"an empty argument":      func(p *Plan) { p.Nodes[0].Steps[0].Args[0] = "" },
		"an unknown verb":        func(p *Plan) { p.Nodes[0].Steps[0].Verb = "format" },
		"a step on another disk": func(p *Plan) { last(p).Args = []string{"vda"} },
		"a step fewer":           func(p *Plan) { p.Nodes[0].Steps = p.Nodes[0].Steps[:len(p.Nodes[0].Steps)-1] },
		"a serial of its own":    func(p *Plan) { p.Nodes[0].Disks[0].Serial = "x" },
		"a role of its own":      func(p *Plan) { p.Nodes[0].Disks[0].Role = "system" },
		"another cluster's OSD":  func(p *Plan) { p.CephFSIDs = nil },
		"production":             func(p *Plan) { p.TargetKind = "prod" },
		"cloud-init's disk": func(p *Plan) {
			for i, line := range p.Nodes[0].State {
				p.Nodes[0].State[i] = strings.Replace(line, ",,ext4", ",cidata,iso9660", 1)
			}
		},
		"a mounted disk": func(p *Plan) {
			for i, line := range p.Nodes[0].State {
				if strings.HasPrefix(line, "dev\tsdb\t") {
					p.Nodes[0].State[i] += "\tmount=/data"
				}
			}
		},
		"steps in another order": func(p *Plan) { p.Nodes[0].Steps[0].ID = 9 },
	} {
		t.Run(name, func(t *testing.T) {
			p := aPlan(t)
			edit(&p)
			file, err := Encode(p)
			require.NoError(t, err)
			_, err = Decode(file)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "\n")
		})
	}
	for name, file := range map[string]string{
		"empty": "", "not JSON": "x", "another schema": `{"schema":"nestor.plan/v2"}`, "an unknown field": `{"schema":"nestor.plan/v1","force":true}`,
		"a blank more": string(good) + " ", "other spacing": strings.Replace(string(good), ": ", ":", 1), "two": string(good) + string(good),
	} {
		_, err := Decode([]byte(file))
		require.Error(t, err, name)
	}
}

func TestParseProfile(t *testing.T) {
	p, err := ParseProfile([]byte(`
topology: other keys are left alone
ceph: {fsid: `+ours+`, data_device_glob: "/dev/sd[b-d] /dev/disk/by-id/ata-1", nvme_block_device: /dev/nvme0n1}
nodes:
  - name: node1
    address: 192.0.2.1
    disks:
      - {by_id: /dev/disk/by-id/ata-2, role: data}
      - {device: /dev/vdc, role: metadata}
  - name: node2
    disks: []
  - name: node3
`), "disks.yaml")
	require.NoError(t, err)
	at := func(line int) inventory.Origin { return inventory.Origin{File: "disks.yaml", Line: line} }
	require.Equal(t, []Stated{{ours, at(3)}}, p.FSIDs)
	require.Equal(t, []Entry{{ByID: "ata-2", Role: "data", Origin: at(8)}, {Device: "/dev/vdc", Role: "metadata", Origin: at(9)}}, p.entries("node1"))
	require.Empty(t, p.entries("node2"), "an empty list is no default")
	require.Equal(t, []Entry{
		{Device: "/dev/sd[b-d]", Role: "data", Glob: true, Origin: at(3)}, {ByID: "ata-1", Role: "data", Origin: at(3)}, {Device: "/dev/nvme0n1", Role: "metadata", Origin: at(3)},
	}, p.entries("node3"))
}

func TestParseProfile_Refuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "lists no disk",
		"nodes: []":                            "lists no disk",
		"[]":                                   "no mapping",
		"nodes: {}":                            "disks.yaml:1: nodes is no list",
		"generated_by: nestor discover":        "authorise itself",
		"ceph: {osds: 3}":                      "ceph.osds is not known",
		"ceph: {data_device_glob: '/dev/sd['}": "is no pattern",
		"ceph: {data_device_glob: }":           "has no value",
		"nodes: [{disks: []}]":                 "without a name",
		"nodes: [{name: a, disks: 1}]":         "disks is no list",
		"nodes: [{name: a, disks: []}, {name: a, disks: []}]":                      "stands here twice",
		"nodes: [{name: a, name: b}]":                                              "stands here twice",
		"nodes: [{name: a, disks: [{role: data}]}]":                                "one of them",
		"nodes: [{name: a, disks: [{device: /dev/sdb, by_id: x, role: data}]}]":    "one of them",
		"nodes: [{name: a, disks: [{device: /dev/sd*, role: data}]}]":              "is a pattern",
		"nodes: [{name: a, disks: [{device: /dev/sdb, role: data, force: true}]}]": "force is not known",
		"nodes: [{name: a, disks: [{device: , role: data}]}]":                      "device has no value",
		"a: [": "disks.yaml",
	} {
		_, err := ParseProfile([]byte(text), "disks.yaml")
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, "disks.yaml", text)
	}
}

func TestEnvProfile(t *testing.T) {
	env := func(m map[string]string) func(string) (string, bool) {
		return func(k string) (string, bool) { v, ok := m[k]; return v, ok }
	}
	_, ok := EnvProfile(env(nil))
	require.False(t, ok)
	_, ok = EnvProfile(env(map[string]string{"DATA_DEVICE_GLOB": " "}))
	require.False(t, ok)
	p, ok := EnvProfile(env(map[string]string{"DATA_DEVICE_GLOB": "/dev/vd[b-d]", "NVME_BLOCK_DEVICE": "/dev/nvme0n1"}))
	require.True(t, ok)
	require.Len(t, p.entries("any"), 2)
	require.Equal(t, "DATA_DEVICE_GLOB", p.Every[0].Origin.String())
}

func FuzzParseInspection(f *testing.F) {
	w := newWorld()
	f.Add(w.print("/dev/sdb"))
	f.Add("nestor-wipe\t1\ndev\ta\tnode=/a\tsize=1\tparent=b\ndev\tb\tnode=/b\tsize=1\tparent=a\ninspected\n")
	f.Add("nestor-wipe\t1\ndev\ta\tnode=/a\tsize=1\tparent=a\ninspected\n")
	f.Add("nestor-wipe\t1\ninspected\n")
	f.Fuzz(func(t *testing.T, text string) {
		in, err := ParseInspection([]byte(text))
		if err != nil {
			return
		}
		again, err := ParseInspection([]byte(header + joinLines(in.Lines)))
		require.NoError(t, err)
		require.Equal(t, in, again)
		var choices []Choice
		for _, a := range in.Asked {
			choices = append(choices, Choice{Path: a.Path})
		}
		_, _ = Make(Input{Node: "n", Choices: choices, Inspection: in, Kind: inventory.Lima}) // must end
		_ = Leftovers(in, true)
	})
}

func FuzzParseProfile(f *testing.F) {
	f.Add("nodes: [{name: a, disks: [{device: /dev/sdb, role: data}]}]")
	f.Add("ceph: &a {fsid: x, nvme_block_device: /dev/nvme0n1}\nnodes: *a")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseProfile([]byte(text), "f")
		if err == nil {
			require.True(t, len(p.Nodes)+len(p.Every) > 0)
		}
	})
}

// An NVMe disk of several paths is another machine's where one of them leads
// there, whichever is told first.
func TestParseInspection_NVMeOverANetwork(t *testing.T) {
	for _, paths := range []string{"device/transport=pcie\tdevice/transport=tcp", "device/transport=tcp\tdevice/transport=pcie", "device/transport=rdma"} {
		in, err := ParseInspection([]byte("nestor-wipe\t1\ndev\tnvme0n1\tnode=/dev/nvme0n1\tsize=1024\t" + paths + "\ninspected\n"))
		require.NoError(t, err)
		require.NotEqual(t, "pcie", in.Devices[0].Fabric)
	}
}
