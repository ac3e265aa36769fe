package bundle

import (
	"cmp"
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// block is the size of a tar block in bytes. A file has a header of one block, or
	// of three blocks if it is 8 GiB or larger.
	block = 512
	// maxRepeated is the maximum size in bytes of content that is stored in each part
	// that needs it. Larger content is stored only once.
	maxRepeated = 1 << 20
)

// release is a version in the bundle. If the receiver has the version, only the address
// is set.
type release struct {
	// name is the tag of the version.
	name    string
	address provider.Address
	// tags contains the tag of the version, and the tags of referrers lists.
	tags map[string]ocispec.Descriptor
	// In manifests, each manifest follows the manifests that it refers to.
	blobs, manifests []item
}

// item is the content of one file.
type item struct {
	digest digest.Digest
	size   int64
	// isOmitted reports whether the receiver has the content.
	isOmitted bool
}

// tarSize returns the size of a file in a tar archive, including its header.
func tarSize(size int64) int64 {
	header := int64(block)
	if size >= 8<<30 {
		header = 3 * block
	}
	return header + (size+block-1)/block*block
}

// plan assigns content to parts. The releases are sorted. partSize is the maximum size
// of a part in bytes, or zero for a single part. overhead is the size of the files that
// each part contains. Each element of the result lists the content of a part in the
// order of its files. If possible, all manifests of a release are in the same part. If
// parts are imported one at a time, this part is then needed only once.
func plan(releases []release, partSize, overhead int64) ([][]item, error) {
	required := int64(0)
	for _, r := range releases {
		for _, c := range slices.Concat(r.blobs, r.manifests) {
			if !c.isOmitted {
				required = max(required, overhead+tarSize(c.size))
			}
		}
	}
	if partSize != 0 && partSize < required {
		return nil, provider.Errorf(provider.Misuse, "the part size is too small: the largest file requires at least %d bytes", required)
	}
	p := planner{partSize: partSize, overhead: overhead, stored: map[digest.Digest]bool{}}
	p.next()
	for _, r := range releases {
		for _, c := range r.blobs {
			p.add(c)
		}
		manifests := int64(0)
		for _, c := range r.manifests {
			manifests += tarSize(c.size)
		}
		if !p.fits(manifests) && overhead+manifests <= partSize {
			p.next()
		}
		for _, c := range r.manifests {
			p.add(c)
		}
	}
	return p.parts, nil
}

// planner assigns content to the last of its parts.
type planner struct {
	partSize, overhead int64
	parts              [][]item
	// used is the size of the last part, and inPart is its content. stored is the
	// content of all parts.
	used           int64
	inPart, stored map[digest.Digest]bool
}

// next adds an empty part.
func (p *planner) next() {
	p.parts = append(p.parts, nil)
	p.used, p.inPart = p.overhead, map[digest.Digest]bool{}
}

// fits reports whether files fit in the last part. size is their total size, including
// headers.
func (p *planner) fits(size int64) bool { return p.partSize == 0 || p.used+size <= p.partSize }

// add adds content that neither the receiver nor the last part has. It skips content
// that another part has if the content is too large to be repeated.
func (p *planner) add(c item) {
	if c.isOmitted || p.inPart[c.digest] || p.stored[c.digest] && c.size > maxRepeated {
		return
	}
	if !p.fits(tarSize(c.size)) {
		p.next()
	}
	last := len(p.parts) - 1
	p.parts[last] = append(p.parts[last], c)
	p.used += tarSize(c.size)
	p.inPart[c.digest], p.stored[c.digest] = true, true
}

// describe returns the manifest of a bundle.
func describe(releases []release, parts [][]item, sender Identity) Manifest {
	m := Manifest{Schema: Schema, Parts: len(parts), Identity: sender, Content: []Content{}}
	// 1. List the content.
	content := map[digest.Digest]*Content{}
	for _, r := range releases {
		for _, c := range slices.Concat(r.blobs, r.manifests) {
			content[c.digest] = &Content{Digest: c.digest, Size: c.size}
		}
	}
	for i, part := range parts {
		for _, c := range part {
			content[c.digest].Parts = append(content[c.digest].Parts, i+1)
		}
	}
	for _, d := range slices.Sorted(maps.Keys(content)) {
		m.Content = append(m.Content, *content[d])
	}
	// 2. List the tags and the content of each repository.
	for _, r := range releases {
		if n := len(m.Repositories); n == 0 || m.Repositories[n-1].Address != r.address.String() {
			m.Repositories = append(m.Repositories, Repository{Address: r.address.String(), Tags: []Tag{}, Blobs: []digest.Digest{}})
		}
		repo := &m.Repositories[len(m.Repositories)-1]
		for name, d := range r.tags {
			repo.Tags = append(repo.Tags, Tag{Name: name, MediaType: d.MediaType, ArtifactType: d.ArtifactType, Digest: d.Digest, Size: d.Size})
		}
		for _, c := range r.blobs {
			repo.Blobs = append(repo.Blobs, c.digest)
		}
		for _, c := range r.manifests {
			repo.Manifests = append(repo.Manifests, c.digest)
		}
	}
	for i := range m.Repositories {
		repo := &m.Repositories[i]
		slices.SortFunc(repo.Tags, func(a, b Tag) int { return cmp.Compare(a.Name, b.Name) })
		repo.Tags = slices.Compact(repo.Tags)
		for _, digests := range []*[]digest.Digest{&repo.Blobs, &repo.Manifests} {
			slices.Sort(*digests)
			*digests = slices.Compact(*digests)
		}
	}
	return m
}
