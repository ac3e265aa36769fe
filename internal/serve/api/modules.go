package api

// Modules is a page of a server's modules. The request is GET /api/v1/modules.
type Modules struct {
	// Modules are sorted by address.
	Modules []ModuleRef `json:"modules"`
	// Total, Next, and Warnings are defined as in [Providers].
	Total    int      `json:"total"`
	Next     string   `json:"next,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// ModuleRef identifies a module.
type ModuleRef struct {
	// Address is host/namespace/name/system in display form.
	Address    string `json:"address"`
	Repository string `json:"repository"`
	// Latest is the newest version. It is empty if all versions are pre-releases.
	Latest string `json:"latest,omitempty"`
	// URL is the URL of the module's details.
	URL string `json:"url,omitempty"`
}

// Module is a module with a page of its versions, newest first. The request is GET
// /api/v1/modules/HOST/NAMESPACE/NAME/SYSTEM.
type Module struct {
	ModuleRef
	Versions []ModuleVersion `json:"versions"`
	// Total and Next are defined as in [Provider].
	Total int    `json:"total"`
	Next  string `json:"next,omitempty"`
	// Pending contains the versions that are pending approval if the caller is allowed to
	// see them.
	Pending []string `json:"pending,omitempty"`
	// Installation is a host block that installs the host's modules from this server.
	// It belongs in the CLI configuration.
	Installation string `json:"installation,omitempty"`
	Stale        bool   `json:"stale,omitempty"`
}

// ModuleVersion is a version of a module.
type ModuleVersion struct {
	Version string `json:"version"`
	Tag     string `json:"tag"`
	// Digest is the digest of the manifest. Zip and Size are the digest and the size of
	// the zip.
	Digest string `json:"digest,omitempty"`
	Zip    string `json:"zip,omitempty"`
	Size   int64  `json:"size,omitempty"`
	// Source is the URL of the source code, and Revision is its commit. Origin is the
	// location that the module registry returned. All are claims of the publisher.
	Source   string `json:"source,omitempty"`
	Revision string `json:"revision,omitempty"`
	Origin   string `json:"origin,omitempty"`
	// Subdirectory is the directory of the module in the zip.
	Subdirectory string `json:"subdirectory,omitempty"`
	// Documents contains the SBOM, provenance, and signature.
	Documents []Document `json:"documents,omitempty"`
	// URL is the URL of the zip, like [Package.URL].
	URL string `json:"url,omitempty"`
	// Problem explains why the version can't be installed. It is empty for installable
	// versions.
	Problem string `json:"problem,omitempty"`
}
