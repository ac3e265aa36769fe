package cliconfig_test

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
)

func TestResolvePath(t *testing.T) {
	t.Parallel()
	tests := [][3]string{{"a", "b", "a/b"}, {"a", "../b", "b"}, {"a", "", "a"}, {"a", ".", "a"}, {"", "b", "b"}, {"a", "/b/../c", "/c"}, {"/a", "/b", "/b"}}
	if runtime.GOOS == "windows" {
		tests = append(tests, [][3]string{
			{`C:\a`, `b\c`, `C:\a\b\c`}, {`C:\a`, `D:\b`, `D:\b`}, {`C:\a`, `\b`, `C:\b`}, {`C:\a`, `/b`, `C:\b`},
			{`C:\a`, `\\host\share\b`, `\\host\share\b`}, {`\\host\share\a`, `\b`, `\\host\share\b`}, {`\\host\share\a`, `b`, `\\host\share\a\b`},
		}...)
	}
	for _, test := range tests {
		if got, want := cliconfig.ResolvePath(filepath.FromSlash(test[0]), filepath.FromSlash(test[1])), filepath.FromSlash(test[2]); got != want {
			t.Errorf("%s in %s is %s, want %s", test[1], test[0], got, want)
		}
	}
}
