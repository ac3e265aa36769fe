package e2e_test

import "github.com/tofu-oci/tofu-oci/pkg/provider"

// installed returns a step in which OpenTofu installs providers for the current
// platform.
func installed(from installSource, required ...lockRequirement) []lockStep {
	return []lockStep{{from: from, require: required}}
}

// locked returns a step in which OpenTofu locks providers for all platforms.
func locked(from installSource, required ...lockRequirement) []lockStep {
	return []lockStep{{from: from, platforms: lockPlatforms, require: required}}
}

var (
	alphas = []lockRequirement{
		requires("zulu.example/acme/alpha", "1.2.3", "~> 1.0"),
		requires("例え.example/acme/alpha", "10.0.0"),
		requires("Bücher.Example/acme/alpha", "2.3.4", "< 3"),
		requires("example.com/acme/alpha", "0.9.0", "< 1"),
		requires("beta/alpha", "1.0.1", "1.0.1"),
		requires("acme/alpha", "10.0.0", ">= 0"),
		requires("ärger.example/acme/alpha", "1.0.0", "1.0.0"),
	}
	two = lockPlatforms[:2]
)

// lockCases maps names of test cases to steps. All steps of a case run in one
// directory.
var lockCases = map[string][]lockStep{
	// Constraints, in different notations.
	"no constraint":            installed(packed, requires("acme/alpha", "10.0.0")),
	"exact":                    installed(packed, requires("acme/alpha", "1.2.3", "1.2.3")),
	"exact with a sign":        installed(packed, requires("acme/alpha", "1.2.3", "=1.2.3")),
	"exact, short":             installed(packed, requires("acme/alpha", "1.2.0", "1.2")),
	"exact, only major":        installed(packed, requires("acme/alpha", "2.0.0", "= 2")),
	"at least, only major":     installed(packed, requires("acme/alpha", "10.0.0", ">=1")),
	"more than":                installed(unpacked, requires("acme/alpha", "10.0.0", "> 2.3.4")),
	"pessimistic major":        installed(packed, requires("acme/alpha", "2.3.4", "~>2")),
	"pessimistic minor":        installed(packed, requires("acme/alpha", "1.2.3", "~> 1.0")),
	"pessimistic patch":        installed(packed, requires("acme/alpha", "1.0.5", "~>1.0.1")),
	"not":                      installed(packed, requires("acme/alpha", "1.2.0", "~> 1.0, != 1.2.3, != 1.5")),
	"blanks":                   installed(packed, requires("acme/alpha", "1.2.0", "  >= 1.0  ,<1.2.3,   !=1.1 ")),
	"upper bounds":             installed(packed, requires("acme/alpha", "1.2.0", "<= 1.2.0, < 2, >= 0.9")),
	"pre-release":              installed(packed, requires("acme/alpha", "2.1.0-alpha", "2.1.0-alpha")),
	"pre-release of a major":   installed(packed, requires("acme/alpha", "3.0.0-rc1", "= 3.0.0-rc1, > 2")),
	"pre-release with build":   installed(packed, requires("acme/alpha", "2.1.0-beta.2+build.5", "2.1.0-beta.2+build.5")),
	"all operators":            installed(packed, requires("acme/alpha", "1.2.3", "!= 1.0.5, < 3, <= 2.9, ~> 1.0, ~> 1.2.0, >= 1.0.1, > 0.1")),
	"one boundary":             installed(packed, requires("acme/alpha", "1.2.3", "!= 2.0.0, < 2.0.0, <= 2.0.0, >= 1.0.0, > 1.0.0, ~> 1.0, ~> 1")),
	"numbers, not text":        installed(packed, requires("acme/alpha", "1.2.3", "< 10, < 9.0, >= 0.10, >= 0.9, != 1.10.0, != 1.9.0, <= 1.2.3")),
	"pre-releases as bounds":   installed(packed, requires("acme/alpha", "1.2.3", "< 2.0.0-rc1, < 2.0.0-rc.1, < 2.0.0, >= 1.0.0-alpha, >= 1.0.0-alpha.1")),
	"of several modules":       installed(packed, requires("acme/alpha", "1.2.3", "~> 1.0", ">= 1.0.1", "< 2", "")),
	"the same several times":   installed(packed, requires("acme/alpha", "1.2.3", "~> 1.0, >= 1", ">= 1.0.0, ~>1.0", ">=1.0", "~> 1.2")),
	"of another module only":   installed(packed, requires("acme/alpha", "1.2.3", "", "~> 1.0")),
	"several, for all systems": locked(packed, requires("acme/alpha", "1.2.3", "~> 1.0", "!= 1.2.0", ">= 1")),

	// Addresses.
	"many hosts from a mirror":     installed(packed, alphas...),
	"many hosts from their origin": installed(direct, alphas...),
	"many hosts, for all systems":  locked(direct, alphas...),
	"many hosts from a network":    locked(network, alphas...),
	"a host with a port":           installed(direct, requires("example.com:8443/acme/alpha", "1.2.3", "~> 1.2"), requires("example.com/acme/alpha", "1.0.0", "1.0")),
	"a name beyond ASCII":          installed(packed, requires("größe/straße", "10.0.0"), requires("acme/alpha", "10.0.0")),
	"one written in capitals":      installed(unpacked, requires("ACME/Alpha", "10.0.0", "10")),

	// Hashes.
	"signed, with all hashes":            installed(direct, requires("acme/alpha", "1.2.3", "1.2.3")),
	"signed, all hashes of another host": installed(direct, requires("example.com/acme/alpha", "1.2.3", "1.2.3")),
	"signed":                             installed(direct, requires("acme/plain", "1.2.3", "1.2.3")),
	"signed, for all systems":            locked(direct, requires("acme/plain", "1.2.3", "1.2.3")),
	"unsigned, with all hashes":          installed(direct, requires("acme/unsigned", "1.2.3", "1.2.3")),
	"unsigned":                           installed(direct, requires("acme/bare", "1.2.3", "1.2.3")),
	"a manifest in the sums":             locked(direct, requires("acme/manifest", "1.2.3", "1.2.3")),
	"sums with a bad line":               locked(direct, requires("acme/garbled", "1.2.3", "1.2.3")),
	"network mirror":                     installed(network, requires("acme/bare", "1.2.3", "1.2.3")),
	"unpacked, for all systems":          locked(unpacked, requires("acme/bare", "1.2.3", "1.2.3")),
	"one other system":                   {{from: packed, platforms: []provider.Platform{{OS: "openbsd", Arch: "arm"}}, require: []lockRequirement{requires("acme/bare", "1.2.3", "1.2.3")}}},

	// Existing lock files.
	"one system after the other": {
		{from: direct, platforms: two, require: []lockRequirement{requires("acme/plain", "1.2.3", "~> 1.0"), requires("example.com/beta/alpha", "1.0.0", "1.0.0")}},
		{from: packed, platforms: lockPlatforms[2:]},
		{from: network, platforms: lockPlatforms},
		{from: unpacked},
	},
	"more hashes from the origin": {
		{from: unpacked, require: []lockRequirement{requires("acme/alpha", "1.2.3", "1.2.3")}},
		{from: direct, platforms: lockPlatforms},
	},
	"an upgrade ignores the locked versions": {
		{from: direct, require: []lockRequirement{requires("acme/plain", "1.0.1", "1.0.1"), requires("acme/bare", "2.0.0", "2.0.0")}},
		{from: packed, upgrade: true, require: []lockRequirement{requires("acme/plain", "1.2.3", "~> 1.0"), requires("acme/bare", "2.0.0", "2.0.0")}},
	},
	"a provider is added and another is removed": {
		{from: packed, require: []lockRequirement{requires("acme/plain", "1.0.1", "1.0.1"), requires("zulu.example/acme/bare", "2.0.0", "2.0.0")}},
		{from: packed, require: []lockRequirement{requires("acme/plain", "1.0.1", "1.0.1"), requires("acme/bare", "2.3.4", "~> 2.0")}},
	},
	"other constraints for the same": {
		{from: packed, require: []lockRequirement{requires("acme/plain", "1.2.3", "~> 1.0")}},
		{from: packed, require: []lockRequirement{requires("acme/plain", "1.2.3", ">= 1, < 2")}},
		{from: packed, require: []lockRequirement{requires("acme/plain", "1.2.3", "~> 1.2"), requires("acme/bare", "1.2.3", "~> 1.2")}},
		{from: packed, platforms: lockPlatforms, require: []lockRequirement{requires("acme/plain", "1.2.3"), requires("acme/bare", "1.2.3", "1.2.3")}},
	},
}
