package guest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSpecDefaults(t *testing.T) {
	s, err := Spec{}.withDefaults()
	require.NoError(t, err)
	assert.Equal(t, Spec{Name: "guest1", Hostname: "guest1", Kind: "lima", User: "root", MemoryMiB: 1536}, s)
	d, err := Disk{Name: "fast", Bus: NVMe, SizeMiB: 1}.withDefaults()
	require.NoError(t, err)
	assert.Equal(t, "fast", d.Serial, "an NVMe controller without a serial is refused by qemu")
	d, err = Disk{Name: "data1", SizeMiB: 1}.withDefaults()
	require.NoError(t, err)
	assert.Empty(t, d.Serial, "as on a Lima VM")
}

func TestSpecRefuses(t *testing.T) {
	for want, s := range map[string]Spec{
		"not a host name":     {Name: "a b"},
		"is no word":          {Kind: "lima\n"},
		"root and debian":     {User: "bob"},
		"not 512 to 16384":    {MemoryMiB: 1},
		"is not 1 to 65535":   {Forward: []int{0}},
		`host name "-x"`:      {Hostname: "-x"},
		`kind ": prod" is no`: {Kind: ": prod"},
	} {
		_, err := s.withDefaults()
		assert.ErrorContains(t, err, want)
	}
	for want, d := range map[string]Disk{
		"a name is":            {Name: "../x", SizeMiB: 1},
		"unknown bus":          {Name: "x", Bus: "ide", SizeMiB: 1},
		"at most 20":           {Name: "x", Serial: "a,b", SizeMiB: 1},
		"no size":              {Name: "x"},
		"are for scsi":         {Name: "x", WWN: 1, SizeMiB: 1},
		"two paths to a disk":  {Name: "x", Bus: SCSI, SecondPath: true, SizeMiB: 1},
		"Removable are for sc": {Name: "x", Bus: NVMe, Removable: true, SizeMiB: 1},
	} {
		_, err := d.withDefaults()
		assert.ErrorContains(t, err, want)
	}
}
