// Package vault opens what ansible-vault has encrypted, formats 1.1 and 1.2:
//
//	$ANSIBLE_VAULT;1.1;AES256
//	30623262363739653938333032...
//
// Errors are phrased to follow the name of what is vaulted: "is vaulted; give
// the vault password file".
package vault

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Header starts a vaulted file or value.
const Header = "$ANSIBLE_VAULT;"

var (
	// ErrClosed says that there is no password.
	ErrClosed = errors.New("is vaulted; give the vault password file")
	// ErrPassword says that the password is not the one.
	ErrPassword = errors.New("is vaulted, and this password does not open it")
)

// Decrypt opens an envelope of ansible-vault, format 1.1 or 1.2: a
// header line, then lines of hexadecimal that hold, again in hexadecimal, one
// a line, salt, HMAC and text, encrypted with AES-256 in counter mode.
// docs.ansible.com, "Ansible Vault payload format", has the details.
func Decrypt(envelope, password []byte) ([]byte, error) {
	if len(password) == 0 {
		return nil, ErrClosed
	}
	header, body, _ := strings.Cut(strings.TrimSpace(string(envelope)), "\n")
	fields := strings.Split(strings.TrimSpace(header), ";")
	if len(fields) < 3 || fields[0] != "$ANSIBLE_VAULT" || fields[1] != "1.1" && fields[1] != "1.2" || fields[2] != "AES256" {
		return nil, fmt.Errorf("is vaulted in a format that is not read here (%.40q); formats 1.1 and 1.2 with AES256 are", header)
	}
	inner, err := hex.DecodeString(strings.Join(strings.Fields(body), ""))
	if err != nil {
		return nil, errors.New("is a damaged vault: not hexadecimal")
	}
	parts := bytes.SplitN(inner, []byte("\n"), 3)
	if len(parts) != 3 {
		return nil, errors.New("is a damaged vault: a part is missing")
	}
	for i := range parts {
		n, err := hex.Decode(parts[i], parts[i])
		if err != nil {
			return nil, errors.New("is a damaged vault: not hexadecimal")
		}
		parts[i] = parts[i][:n]
	}
	salt, sum, text := parts[0], parts[1], parts[2]
	keys, err := pbkdf2.Key(sha256.New, string(password), salt, 10_000, 32+32+aes.BlockSize)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, keys[32:64])
	mac.Write(text)
	if !hmac.Equal(mac.Sum(nil), sum) {
		return nil, ErrPassword
	}
	block, err := aes.NewCipher(keys[:32])
	if err != nil {
		return nil, err
	}
	cipher.NewCTR(block, keys[64:]).XORKeyStream(text, text)
	// PKCS #7 padding, which counter mode would not need.
	if len(text) == 0 || int(text[len(text)-1]) > min(len(text), aes.BlockSize) || text[len(text)-1] == 0 {
		return nil, errors.New("is a damaged vault: wrong padding")
	}
	return text[:len(text)-int(text[len(text)-1])], nil
}
