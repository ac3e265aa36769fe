package pull

var (
	// FetchDirectory fetches a package that exists only as an unpacked directory.
	FetchDirectory = fetchDirectory
	// IsDocumentName reports whether a file name is allowed for a document.
	IsDocumentName = isDocumentName
	// Layouts returns all layouts.
	Layouts = func() []Layout { return []Layout{LayoutZip, LayoutPacked, LayoutUnpacked, LayoutNetwork} }
)
