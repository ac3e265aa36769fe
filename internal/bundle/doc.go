// Package bundle transfers versions of providers and modules across an air gap, in
// files of limited size.
//
//	create = OCI repositories → graphs → plan → parts
//	import = parts → the same bytes in other OCI repositories
//
// A bundle consists of one or more tar archives, its parts. When all parts are
// extracted, they form an OCI image layout. Each part also contains the bundle's
// manifest, which lists all content with its digest, size, and parts. [Create] writes a
// bundle, and [Open] reads parts in any order. An open bundle is a set of repositories
// ([Bundle.Reader]), so [Import] uses the same flow as a copy.
package bundle
