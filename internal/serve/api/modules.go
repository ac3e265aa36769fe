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
	// Pending, MorePending, Denied, and MoreDenied are defined as in [Provider].
	Pending     []ModuleVersion `json:"pending,omitempty"`
	MorePending int             `json:"more_pending,omitempty"`
	Denied      []ModuleVersion `json:"denied,omitempty"`
	MoreDenied  int             `json:"more_denied,omitempty"`
	// Installation is a host block that installs the host's modules from this server.
	// It belongs in the CLI configuration.
	Installation string `json:"installation,omitempty"`
	Stale        bool   `json:"stale,omitempty"`
}

// ModuleVersion is a version of a module.
type ModuleVersion struct {
	Version string `json:"version"`
	Tag     string `json:"tag"`
	// Status is one of the Status constants. Problem explains why the version is not
	// complete.
	Status  string `json:"status"`
	Problem string `json:"problem,omitempty"`
	// Digest is the digest of the manifest. Zip and Size are the digest and the size of
	// the zip.
	Digest string `json:"digest,omitempty"`
	Zip    string `json:"zip,omitempty"`
	Size   int64  `json:"size,omitempty"`
	// Source is the URL of the source code, and Revision is its commit. Origin is the
	// location that the module registry returned. These values are the publisher's
	// claims.
	Source   string `json:"source,omitempty"`
	Revision string `json:"revision,omitempty"`
	Origin   string `json:"origin,omitempty"`
	// Subdirectory is the directory of the module in the zip.
	Subdirectory string `json:"subdirectory,omitempty"`
	// Documents contains the SBOM, provenance, and signature.
	Documents []Document `json:"documents,omitempty"`
	// ZipURL is the URL of the zip, like [Package.URL].
	ZipURL string `json:"zip_url,omitempty"`
	// URL is the URL of the version's details.
	URL string `json:"url,omitempty"`
}

// ModuleRelease contains the details of a version. A pending or denied version has no
// ZipURL. The request is GET /api/v1/modules/HOST/NAMESPACE/NAME/SYSTEM/VERSION.
type ModuleRelease struct {
	Module ModuleRef `json:"module"`
	ModuleVersion
	Assessment
	// Requirement is the module block that requires this version.
	Requirement string `json:"requirement,omitempty"`
	// Installation has the same content as in [Module].
	Installation string `json:"installation,omitempty"`
	Stale        bool   `json:"stale,omitempty"`
}
