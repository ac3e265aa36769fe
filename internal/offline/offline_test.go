package offline_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tofu-oci/tofu-oci/internal/bundle"
	"github.com/tofu-oci/tofu-oci/internal/offline"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/testing/memnet"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

const address = "registry.opentofu.org/acme/vpc/aws"

// start starts a run with a bundle that contains two versions of a module. The run's
// server is on the given network.
func start(t *testing.T, network *memnet.Network) *offline.Run {
	t.Helper()
	repo := repository.NewLayout(filepath.Join(t.TempDir(), "vpc"))
	for _, text := range []string{"1.0.0", "1.0.1", "1.1.0"} {
		v, err := provider.ParseVersion(text)
		if err != nil {
			t.Fatal(err)
		}
		main := module.File{Path: "main.tf", Size: int64(len(text)), Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
		if _, err := module.Push(t.Context(), repo, module.Package{Name: "vpc", Version: v, Files: []module.File{main}}, module.PushOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "bundle.tar")
	wanted := []provider.Requirement{{Address: provider.ModuleAddress(address)}}
	_, err := bundle.Create(t.Context(), wanted, bundle.CreateOptions{File: file, From: func(provider.Address) (repository.Reader, error) { return repo, nil }})
	if err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Open(t.Context(), []string{filepath.Join(filepath.Dir(file), "*.tar")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	r, err := offline.StartOn(network.Listen("127.0.0.1:8080"), b, nil, refuse)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// refuse refuses version 1.0.1.
func refuse(_ context.Context, r provider.Release) (provider.Verdict, error) {
	if r.Version.String() != "1.0.1" {
		return provider.Verdict{}, nil
	}
	return provider.Verdict{}, &trust.RefusedError{Address: r.Address, Version: r.Version, Problem: "unsigned"}
}

// get returns the status of a request, or an error.
func get(t *testing.T, client *http.Client, target string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err.Error()
	}
	_ = resp.Body.Close()
	return fmt.Sprint(resp.Status, resp.Header.Get("X-Terraform-Get"))
}

// TestRegistry checks that modules are available only at the random path, and that the
// network is blocked.
func TestRegistry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New()
		r := start(t, network)
		service := r.Exec.Modules[provider.DefaultHost]
		proxy, err := url.Parse(r.Exec.Proxy)
		if err != nil {
			t.Fatal(err)
		}
		direct := &http.Client{Transport: &http.Transport{DialContext: network.Dial}}
		blocked := &http.Client{Transport: &http.Transport{DialContext: network.Dial, Proxy: http.ProxyURL(proxy)}}
		defer direct.CloseIdleConnections()
		defer blocked.CloseIdleConnections()
		for _, test := range []struct {
			client    *http.Client
			url, want string
		}{
			{direct, service + "acme/vpc/aws/versions", "200"},
			{direct, service + "acme/vpc/aws/1.1.0/download", "/vpc_1.1.0.zip"},
			{direct, service + "acme/vpc/aws/1.0.1/download", "404"},
			{direct, service + "acme/other/aws/versions", "404"},
			{direct, r.Exec.Proxy + "/v1/modules/" + address + "/versions", "404"},
			{direct, r.Exec.Proxy + "/wrong/v1/modules/" + address + "/versions", "404"},
			{blocked, "http://example.com/", "403 tofu-oci exec --bundle blocks the network"},
			{blocked, "https://example.com/", "tofu-oci exec --bundle blocks the network"},
			{blocked, service + "acme/vpc/aws/versions", "403"},
		} {
			if got := get(t, test.client, test.url); !strings.Contains(got, test.want) {
				t.Errorf("%s: %s, want %s", strings.Replace(test.url, proxy.Host, "HOST", 1), got, test.want)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if got := get(t, direct, service+"acme/vpc/aws/versions"); strings.HasPrefix(got, "200") {
			t.Error("the registry still responds")
		}
	})
}

// TestFetch checks which modules are unpacked.
func TestFetch(t *testing.T) {
	t.Parallel()
	r := start(t, memnet.New())
	var dir string
	for _, test := range []struct {
		source, version, want string
		terraform             bool
	}{
		{"acme/vpc/aws", "", "1.1.0", false},
		{"acme/vpc/aws//a/b", "v1.0.0", "1.0.0", false},
		{"acme/vpc/aws", "1.0.1", "unsigned", false},
		{address, "1.1.0", "1.1.0", true},
		{"acme/vpc/aws", "", "the bundle doesn't contain registry.terraform.io/acme/vpc/aws", true},
		{"acme/vpc/aws", ">= 2.0", "2.0", false},
		{"git::https://example.com/vpc.git", "", "supports only local modules and modules from module registries", false},
	} {
		p, err := r.Exec.Fetch(t.Context(), configuration.Call{Source: test.source, Version: test.version}, test.terraform)
		got := fmt.Sprint(err)
		if err == nil {
			content, err := os.ReadFile(filepath.Join(p.Dir, "main.tf"))
			if err != nil {
				t.Fatal(err)
			}
			got, dir = string(content), p.Dir
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s %s: %s, want %s", test.source, test.version, got, test.want)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the module was not removed")
	}
	if _, err := r.Exec.Fetch(t.Context(), configuration.Call{Source: "acme/vpc/aws"}, false); err == nil {
		t.Error("a closed run unpacks modules")
	}
}
