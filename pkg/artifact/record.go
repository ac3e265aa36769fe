package artifact

// typeRecord is the artifact type of records, such as decisions, and the media type of
// their content. It is a general type, because some registries, such as GitLab's, accept
// only well-known types. An annotation specifies the kind of record.
const typeRecord = "application/json"

// annotationRecord annotates the manifest of a record with its kind.
const annotationRecord = annotationPrefix + "record"

// Kinds of records.
const (
	recordDecision = "decision"
	recordSync     = "sync"
)

// isRecord reports whether a manifest, or its descriptor in a referrers list, is a
// record of the given kind. Earlier versions wrote a separate artifact type for each
// kind instead of an annotation.
func isRecord(artifactType string, annotations map[string]string, kind string) bool {
	return annotations[annotationRecord] == kind || artifactType == "application/vnd.io.github.tofu-oci."+kind+".v1+json"
}
