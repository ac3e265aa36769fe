// Package store implements the local cache. It stores verified zips by their digests,
// and the files that the zips unpack to. Any number of processes can use the same
// directory concurrently, and each process can be killed at any time.
//
//	DIR/CACHEDIR.TAG                  identifies the directory as a cache of tofu-oci
//	DIR/blobs/sha256/HEX              a zip, as in an OCI image layout
//	DIR/records/sha256/HEX            the size, times, and inode of the zip's file when it was verified
//	DIR/unpacked/sha256/HEX/files/…   the files that the zip with this digest unpacks to
//	DIR/unpacked/sha256/HEX/record    the sizes, times, and inodes of those files, and their h1 hash
//	DIR/unpacked/sha256/HEX/lock      locked while the files are used, and while they are removed
//	DIR/packages/sha256/HEX           the zips that are known to belong to a package, and their verification metadata
//	DIR/mirrors/sha256/HEX/mirror/…   a filesystem_mirror: links to zips
//	DIR/mirrors/sha256/HEX/record     the package list; HEX is its digest
//	DIR/mirrors/sha256/HEX/lock       locked while the links are used, and while they are removed
//
// A file is trusted as long as its size, times, and inode match its record, and is
// hashed otherwise. The modification time of a record is the time of last use. An entry
// is renamed to its final name only after it is complete.
//
// Files are copied to and from the store, with shared blocks if the file system
// supports them, so changes to the output don't affect the store. In contrast,
// [Store.Mirror] creates links, but only to zips, because clients unpack zips
// elsewhere.
//
// Package source uses the store through [source.NewCached], which reads zips from the
// store and stores missing zips. Package pull uses the store through pull.NewSink.
//
// [source.NewCached]:
// https://pkg.go.dev/github.com/tofu-oci/tofu-oci/pkg/source#NewCached
package store
