// Package inventory reads an Ansible inventory, the only list of nodes, and
// turns a node's name into a [Target].
//
//	all:
//	  vars:
//	    target_kind: prod
//	    ansible_user: debian
//	  children:
//	    cloud:
//	      hosts:
//	        node1:
//	          ansible_host: 192.0.2.11
//
// With [Load] and [Inventory.Target], node1 is debian@192.0.2.11, of the kind
// prod, by ssh. [Inventory.Explain] tells where each value stands and what it
// beat, [Inventory.Select] takes Ansible's host patterns, [Find] chooses the
// inventory.
//
// It gives Ansible's own answer or an error. YAML, INI, the JSON of
// "ansible-inventory --list" and directories of them are read, with group_vars
// and host_vars, host ranges, Ansible's precedence, YAML 1.1 scalars, vaults
// and the part of Jinja that connections use.
//
// It refuses what it cannot read whole, where Ansible would warn and use the
// rest; a value that a call needs and that only Ansible could resolve; a value
// that would turn into an option of ssh. Variables that no call needs fail
// nothing. Scripts, plugins and executable password files are never run.
//
// The package is pure: the caller hands in the file system and the
// environment; nothing is executed and no network is used. Files are bounded
// in size, depth and in what ranges, aliases and templates make of them.
package inventory
