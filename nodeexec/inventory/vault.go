package inventory

import "errors"

// vaultHeader starts a vaulted file or value.
const vaultHeader = "$ANSIBLE_VAULT;"

func (inv *Inventory) openVault(v Value) (Value, error) {
	return Value{}, errors.New("is vaulted; give the vault password file")
}
