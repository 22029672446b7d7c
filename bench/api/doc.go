// Package api holds no code: its test compares the exported API of the
// library's packages with what docs/api records, so that it changes only on
// purpose:
//
//	go test ./bench/api -update
package api
