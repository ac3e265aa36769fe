//go:build unix

package main

import (
	"context"
	"fmt"
	"path/filepath"
)

// pull returns the work of downloading one large zip.
func (s *site) pull() work {
	wanted := 0.85
	if !s.place.memory {
		wanted = 1 // unlike some of the other programs, tofu-oci syncs its output to the disk
	}
	return work{
		name:  "pull",
		ready: func(ctx context.Context) error { return s.bigPackages(ctx, 1) },
		doers: []doer{s.pullOurs(s.registryHost), s.pullCrane(s.registryHost), s.pullRegctl(), s.pullCurl()},
		rows: []row{
			{"`pull` of a 300 MB zip, verified", "tofu-oci", []string{"crane blob", "regctl blob get"}, wanted},
			{"the same", "tofu-oci", []string{"curl, unverified"}, 1},
		},
	}
}

// slowLink returns the work of downloading a zip over a link that limits the rate of
// each connection.
func (s *site) slowLink() work {
	link := &link{to: s.host}
	return work{
		name:  "slow link",
		ready: func(ctx context.Context) error { return s.bigPackages(ctx, 1) },
		doers: []doer{s.pullOurs(link.start), s.pullCrane(link.start)},
		rows: []row{
			{fmt.Sprintf("`pull` of a 300 MB zip, %d MB/s per connection, %d ms latency", linkRate/1_000_000, linkDelay.Milliseconds()), "tofu-oci", []string{"crane blob"}, 0.2},
		},
		memoryOnly: true,
	}
}

// way starts a route to the registry. It returns the route's host and a function that
// stops the route.
type way func(ctx context.Context) (host string, done func(), err error)

func (s *site) registryHost(context.Context) (string, func(), error) { return s.host, func() {}, nil }

func (s *site) pullOurs(to way) doer {
	return doer{"tofu-oci", func(ctx context.Context, dir string) (task, error) {
		host, done, err := to(ctx)
		name := fmt.Sprintf("terraform-provider-%s_%s_%s.zip", bigType(0), bigVersion, s.here)
		return task{
			command: s.ours(dir, "pull", namespace+"/"+bigType(0), "--from", host+"/{namespace}/{type}", "--dir", "."),
			right:   hasDigest(filepath.Join(dir, name), s.big[0].digest),
			done:    done,
		}, err
	}}
}

func (s *site) pullCrane(to way) doer {
	return doer{"crane blob", func(ctx context.Context, dir string) (task, error) {
		host, done, err := to(ctx)
		t := s.toStdout(dir, s.crane, "blob", host+"/"+namespace+"/"+bigType(0)+"@"+s.big[0].digest.String())
		t.done = done
		return t, err
	}}
}

func (s *site) pullRegctl() doer {
	return doer{"regctl blob get", func(_ context.Context, dir string) (task, error) {
		return s.toStdout(dir, s.regctl, "blob", "get", s.host+"/"+namespace+"/"+bigType(0), s.big[0].digest.String()), nil
	}}
}

func (s *site) pullCurl() doer {
	return doer{"curl, unverified", func(_ context.Context, dir string) (task, error) {
		zip := filepath.Join(dir, "zip")
		url := fmt.Sprintf("https://%s/v2/%s/%s/blobs/%s", s.host, namespace, bigType(0), s.big[0].digest)
		return task{
			command: command{args: []string{s.curl, "-fsS", "-o", zip, url}, dir: dir, environ: s.environ(), stdout: filepath.Join(dir, "stdout")},
			right:   hasDigest(zip, s.big[0].digest),
		}, nil
	}}
}

// toStdout returns a task in which a program prints the first large zip.
func (s *site) toStdout(dir string, args ...string) task {
	zip := filepath.Join(dir, "zip")
	return task{
		command: command{args: args, dir: dir, environ: s.environ(), stdout: zip},
		right:   hasDigest(zip, s.big[0].digest),
	}
}
