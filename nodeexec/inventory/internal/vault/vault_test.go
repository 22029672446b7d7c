package vault

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// sample is the word root under the password "secret", made by ansible-vault.
const sample = `$ANSIBLE_VAULT;1.1;AES256
30623262363739653938333032326131303635303463626139613062396636336339613564646230
3531616136366462353031643739336364653536643033370a633732643837653832613032633462
61633737333463646131306662626331393533303035353935366335373531653439666633323232
3631363034356231620a366634633534363436386265393763363462373965383631393834313338
3738`

func TestDecrypt(t *testing.T) {
	plain, err := Decrypt([]byte(sample), []byte("secret"))
	require.NoError(t, err)
	require.Equal(t, "root", string(plain))
	_, err = Decrypt([]byte(sample), []byte("Secret"))
	require.ErrorIs(t, err, ErrPassword)
	_, err = Decrypt([]byte(sample), nil)
	require.ErrorIs(t, err, ErrClosed)
}

func TestDamaged(t *testing.T) {
	for envelope, want := range map[string]string{
		"$ANSIBLE_VAULT;1.0;AES\n00":                  "format that is not read here",
		"$ANSIBLE_VAULT;1.1;AES256\nzz":               "not hexadecimal",
		"$ANSIBLE_VAULT;1.1;AES256\n3030":             "a part is missing",
		"$ANSIBLE_VAULT;1.1;AES256\n7a0a7a0a7a":       "not hexadecimal",
		"$ANSIBLE_VAULT;1.1;AES256\n30300a30300a3030": "does not open it",
		"": "format that is not read here",
	} {
		_, err := Decrypt([]byte(envelope), []byte("secret"))
		require.ErrorContains(t, err, want, envelope)
	}
}

func FuzzDecrypt(f *testing.F) {
	f.Add([]byte("$ANSIBLE_VAULT;1.1;AES256\n3031320a3031\n"))
	f.Add([]byte(sample))
	f.Fuzz(func(t *testing.T, b []byte) {
		plain, err := Decrypt(b, []byte("wrong"))
		require.Error(t, err)
		require.Empty(t, plain)
	})
}
