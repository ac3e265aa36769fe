// Package store keeps what was verified once on this machine: zips by their
// digest, and what they unpack to. Any number of processes may use the same
// directory at the same time, and any of them may be killed.
//
//	DIR/CACHEDIR.TAG                  says whose directory it is
//	DIR/blobs/sha256/HEX              a zip, where an OCI image layout has it
//	DIR/records/sha256/HEX            what its file looked like when it was right
//	DIR/unpacked/sha256/HEX/files/…   what the zip of that digest unpacks to
//	DIR/unpacked/sha256/HEX/record    what those files looked like, and their h1
//	DIR/unpacked/sha256/HEX/lock      locked by who uses the files, and who removes them
//	DIR/packages/sha256/HEX           which zips are known to be a certain package, and their evidence
//	DIR/mirrors/sha256/HEX/mirror/…   a filesystem_mirror: links to zips and unpacked packages
//	DIR/mirrors/sha256/HEX/plugins/…  a plugin cache: links to unpacked packages
//	DIR/mirrors/sha256/HEX/record     which packages; HEX is the digest of that
//	DIR/mirrors/sha256/HEX/lock       locked by who uses the links, and who removes them
//
// A file is trusted as long as it looks as its record says: size, times and
// inode. Else it is hashed. The time of a record is that of the last use.
// Everything gets its name when it is whole.
//
// Files go in and out as copies, which share their blocks where the disk can, so
// that what becomes of the output is nothing to the store. [Store.Mirror] alone
// gives links, to programs that link to it themselves. The files of unpacked
// packages have no permission to be written to for that reason.
//
// Use it beneath package pull: [source.NewCached] takes zips out of a store and puts
// those in that it lacks, and pull.NewSink takes files and directories.
//
// [source.NewCached]: https://pkg.go.dev/github.com/tofu-oci/tofu-oci/pkg/source#NewCached
package store
