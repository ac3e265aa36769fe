// Package template maps provider addresses to OCI repositories, as specified by
// configuration. It performs no I/O.
//
// A repository template has one of two forms, which can't be mixed:
//
//	ghcr.io/acme/providers/${namespace}/${type}
//	ghcr.io/acme/providers/{namespace}/{type}
//
// The first form is the HCL template of OpenTofu's oci_mirror blocks. It is evaluated
// as in OpenTofu and supports HCL's template language except functions. The second form
// needs no quoting in shells. Both support the variables hostname, namespace, and type.
// The hostname is in Punycode, followed by the port if the address has one.
//
// With the prefix "oci-layout:", the result is the path of an OCI image layout
// directory, with slashes or backslashes:
//
//	oci-layout:mirror/{hostname}/{namespace}/{type}
//
// In paths, an underscore replaces the colon before a port, because Windows does not
// allow colons in file names.
package template
