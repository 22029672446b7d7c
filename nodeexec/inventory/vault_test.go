package inventory

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// Made by ansible-vault with the password "secret": the word root, and a file
// of variables under the label prod.
const (
	sampleVault = `$ANSIBLE_VAULT;1.1;AES256
30623262363739653938333032326131303635303463626139613062396636336339613564646230
3531616136366462353031643739336364653536643033370a633732643837653832613032633462
61633737333463646131306662626331393533303035353935366335373531653439666633323232
3631363034356231620a366634633534363436386265393763363462373965383631393834313338
3738`
	sampleVaultFile = `$ANSIBLE_VAULT;1.2;AES256;prod
61376365373030363166613866303563393766313934636235373263646661363464356436316331
6562386231363939346533326666616239323836646134340a646162306365363832343235326639
31363034383563363738336535653731616534663763356566353565643266633764656461346434
3338623533313863310a376639356232623762383432316265303864626137333839643662656638
32346331333364313263636631666561323132323662313965393565386561363861393434313736
6162653032346664616136636362383666386561613235303533
`
)

func vaulted(t *testing.T, password string, files map[string]string) *Inventory {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	inv, err := Open(Options{FS: fsys, Name: "hosts.yaml", VaultPassword: []byte(password)})
	require.NoError(t, err)
	return inv
}

func TestVaultedValue(t *testing.T) {
	indented := strings.ReplaceAll(sampleVault, "\n", "\n          ")
	files := map[string]string{"hosts.yaml": "all:\n  hosts:\n    h:\n      ansible_user: !vault |\n          " + indented + "\n    other: {ansible_user: me}\n"}
	target, err := vaulted(t, "secret", files).Target("h", "")
	require.NoError(t, err)
	require.Equal(t, "root", target.User)

	_, err = vaulted(t, "", files).Target("h", "")
	require.EqualError(t, err, `hosts.yaml:4: node "h": ansible_user is vaulted; give the vault password file`)
	_, err = vaulted(t, "", files).Target("other", "")
	require.NoError(t, err, "a closed vault elsewhere is no error")
	_, err = vaulted(t, "other", files).Target("h", "")
	require.EqualError(t, err, `hosts.yaml:4: node "h": ansible_user is vaulted, and this password does not open it`)

	x, err := vaulted(t, "", files).Explain("h")
	require.NoError(t, err)
	for _, f := range x.Fields {
		require.NotContains(t, f.Written, "3062", "the envelope is not shown")
	}
}

// TestUnusedVault: Ansible stops at a vaulted password and at a template of
// become even where neither is used; nestor needs them not, and looks at none.
func TestUnusedVault(t *testing.T) {
	inv := vaulted(t, "", map[string]string{"hosts.yaml": "all: {vars: {ansible_become_pass: !vault x, ansible_password: !vault y, ansible_become_user: '{{ nobody }}'}, hosts: {h: }}"})
	_, err := inv.Target("h", "")
	require.NoError(t, err)
}

func TestVaultedFile(t *testing.T) {
	files := map[string]string{
		"hosts.yaml":                "all: {hosts: {h: {ansible_host: 192.0.2.1}, free: {}}, children: {g: {hosts: h}}}",
		"group_vars/g/vault.yml":    sampleVaultFile,
		"group_vars/g/readable.yml": "ansible_user: readable\n",
	}
	target, err := vaulted(t, "secret", files).Target("h", "")
	require.NoError(t, err)
	require.Equal(t, 2022, target.Port)
	require.Equal(t, "vaulted", target.User)
	require.Equal(t, Origin{"group_vars/g/vault.yml", 2}, target.Origins["ansible_user"])

	_, err = vaulted(t, "", files).Target("h", "")
	require.ErrorContains(t, err, "group_vars/g/vault.yml: node \"h\": ")
	require.ErrorContains(t, err, "may be set in this vaulted file, which is closed; give the vault password file")
	_, err = vaulted(t, "", files).Target("free", "")
	require.NoError(t, err, "the file says nothing of this host")
	_, err = vaulted(t, "wrong", files).Target("h", "")
	require.ErrorIs(t, err, ErrUnreadable)
	require.EqualError(t, err, "group_vars/g/vault.yml: is vaulted, and this password does not open it")
}
