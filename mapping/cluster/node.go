package cluster

import (
	"slices"
	"strings"
)

// Roles are those of the node's labels, of the form
// node-role.kubernetes.io/ROLE or kubernetes.io/role=ROLE. "master" is the old
// name of control-plane.
func (n Node) Roles() []string {
	roles := []string{}
	for label, value := range n.Labels {
		role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/")
		if label == "kubernetes.io/role" {
			role, ok = value, true
		}
		if role == "master" {
			role = "control-plane"
		}
		if ok && role != "" && !slices.Contains(roles, role) {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	return roles
}

// AddressesOf are the node's addresses of a type, lower case; of all types but
// Hostname when it is empty.
func (n Node) AddressesOf(kind string) []string {
	var list []string
	for _, a := range n.Addresses {
		if a.Type == kind || kind == "" && a.Type != "Hostname" {
			list = append(list, strings.ToLower(a.Address))
		}
	}
	return list
}
