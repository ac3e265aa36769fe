package repository

import (
	"context"
	"errors"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TagCache caches the tags of repositories, so that a run lists the tags of each
// repository only once. The zero value is ready to use.
type TagCache struct {
	// lists contains functions that return all tags or an error that isUnlisted matches.
	lists memo.Memo[string, func() ([]string, error)]
}

// isUnlisted reports whether the tags can't be listed because the repository is missing
// or the credentials don't permit listing them.
func isUnlisted(err error) bool {
	return errors.Is(err, provider.ErrForbidden) || errors.Is(err, ErrNoRepository) || errors.Is(err, ErrNotFound)
}

// Tags returns all tags of a repository, sorted. After a request succeeds, or fails
// because the tags can't be listed, all later calls return the same result.
func (l *TagCache) Tags(ctx context.Context, repo Reader) ([]string, error) {
	list, err := l.lists.Get(ctx, repo.String(), func(ctx context.Context) (func() ([]string, error), error) {
		tags, err := repo.Tags(ctx)
		slices.Sort(tags)
		if err != nil && !isUnlisted(err) {
			return nil, err
		}
		return func() ([]string, error) { return tags, err }, nil
	})
	if err != nil {
		return nil, err
	}
	return list()
}

// Reader returns repo with a Tags method that uses the cache.
func (l *TagCache) Reader(repo Reader) Reader { return cachedReader{repo, l} }

type cachedReader struct {
	Reader
	listings *TagCache
}

func (l cachedReader) Tags(ctx context.Context) ([]string, error) {
	return l.listings.Tags(ctx, l.Reader)
}
