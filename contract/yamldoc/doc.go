// Package yamldoc cuts a YAML stream into its documents and reads each of
// them with the place of every value.
//
//	# a licence, a document of its own that holds nothing
//	---
//	kind: Service
//	--- # a comment is allowed here, content as well
//	kind: [broken
//
// gives two [Chunk]s, the first line of each being known; the broken one does
// not hide the other and does not move its line numbers.
//
// It refuses, with a [Problem] that says where, a document that does not
// parse, that holds the same key twice in one mapping, that is nested deeper
// than [MaxDepth], longer than [MaxDocumentBytes], or whose aliases expand to
// more than [MaxExpandedNodes] values. Keys are case-sensitive. Nothing is
// converted on the way: a caller asks a [Node] for a text, a number or a
// truth value, and is told when it is not one.
package yamldoc
