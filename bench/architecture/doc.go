// Package architecture holds no code: its test keeps the boundaries between
// the others. Data flows one way, the pure packages touch no world, one file
// starts processes, and only cmd reads the environment.
package architecture
