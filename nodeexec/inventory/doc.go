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
// It gives Ansible's own answer or an error: what it cannot read whole it
// refuses, and a value that could turn into an ssh option never leaves it.
// The package is pure: the caller hands in the file system and the
// environment; nothing is executed and no network is used.
package inventory
