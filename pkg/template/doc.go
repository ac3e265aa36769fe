// Package template makes an OCI repository's name of a provider's address, and
// does no I/O. Use it where people configure which repository a provider is in.
//
// A repository template has one of two forms, which cannot be mixed:
//
//	ghcr.io/acme/providers/${namespace}/${type}
//	ghcr.io/acme/providers/{namespace}/{type}
//
// The first is the HCL template of OpenTofu's oci_mirror blocks, evaluated as
// OpenTofu does, with all that HCL's template language has except functions.
// The second holds nothing that a shell would want quoted. Both know the
// variables hostname, namespace and type; hostname is in Punycode and has the
// port when the address has one.
//
// With "oci-layout:" in front the result is the path of an OCI image layout
// directory, written with slashes or backslashes:
//
//	oci-layout:mirror/{hostname}/{namespace}/{type}
//
// There, the hostname's colon before a port is an underscore, since Windows
// allows no colon in names.
package template
