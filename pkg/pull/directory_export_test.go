package pull

// FetchDirectory is how Release takes packages that are no zips.
var FetchDirectory = fetchDirectory
