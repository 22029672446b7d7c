// Package docs holds no code: its test keeps the links between the pages
// whole, and the list of the guides complete.
package docs
