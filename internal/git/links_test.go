package git_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/git"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func TestExpandLinks(t *testing.T) {
	t.Parallel()
	files := []git.File{{Path: "main.tf", Size: 1}, {Path: "a/b/one.tf", Size: 2}, {Path: "a/two.tf", Size: 3}, {Path: "a-b", Size: 4}}
	bomb, wide, large := map[string]string{}, map[string]string{}, map[string]string{}
	for level := range 20 { // each level has twice as many files as the previous level
		for _, name := range []string{"x", "y"} {
			bomb[fmt.Sprintf("l%d/%s", level+1, name)] = fmt.Sprintf("l%d", level)
		}
	}
	bomb["l0/x"] = "main.tf"
	for n := range 20 {
		large[fmt.Sprint(n)] = "a"
	}
	for n := range 200 { // 200 links to 200 links to 200 links to a file
		for level, to := range []string{"main.tf", "w0", "w1"} {
			wide[fmt.Sprintf("w%d/%d", level, n)] = to
		}
	}
	for name, test := range map[string]struct {
		links   map[string]string
		added   []string
		problem string
	}{
		"file":           {map[string]string{"x": "main.tf", "a/y": "x"}, []string{"a/y:1", "x:1"}, ""},
		"directory":      {map[string]string{"x": "a", "a/b/y": "main.tf"}, []string{"a/b/y:1", "x/b/one.tf:2", "x/b/y:1", "x/two.tf:3"}, ""},
		"link in a link": {map[string]string{"c/x": "a/b", "d": "c"}, []string{"c/x/one.tf:2", "d/x/one.tf:2"}, ""},
		"parent":         {map[string]string{"a/x": "a"}, nil, `"a/x" doesn't refer to a file`},
		"two parents":    {map[string]string{"a/x": "c", "c/y": "a"}, nil, "doesn't refer to a file"},
		"root":           {map[string]string{"x": "."}, nil, `"x" doesn't refer`},
		"outside":        {map[string]string{"x": "../main.tf"}, nil, `"x" doesn't refer`},
		"absolute":       {map[string]string{"x": "/main.tf"}, nil, `"x" doesn't refer`},
		"through a link": {map[string]string{"x": "a", "y": "x/two.tf"}, nil, `"y" doesn't refer`},
		"prefix":         {map[string]string{"x": "a/b/on"}, nil, `"x" doesn't refer`},
		"itself":         {map[string]string{"x": "x"}, nil, `"x" doesn't refer`},
		"twice":          {map[string]string{"main.tf": "a-b"}, nil, `"main.tf" twice`},
		"bomb":           {bomb, nil, "doesn't refer"},
		"wide":           {wide, nil, "more than 1000 files"},
		"large":          {large, nil, "exceed 100 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, err := git.ExpandLinks(files, test.links, git.Options{MaxEntries: 1000, MaxContents: 100 + int64(len(test.links))/100*10000})
			if test.problem != "" {
				if err == nil || !strings.Contains(err.Error(), test.problem) || provider.KindOf(err) != provider.Refused {
					t.Errorf("got %v, want %s", err, test.problem)
				}
				return
			}
			var got []string
			for _, f := range all {
				got = append(got, fmt.Sprintf("%s:%d", f.Path, f.Size))
			}
			want := append([]string{"a-b:4", "a/b/one.tf:2", "a/two.tf:3", "main.tf:1"}, test.added...)
			if diff := cmp.Diff(sorted(want), got); diff != "" || err != nil {
				t.Errorf("%v: %s", err, diff)
			}
		})
	}
	if _, err := git.ExpandLinks(append(files, git.File{Path: "a-b"}), nil, git.Options{MaxEntries: 10, MaxContents: 100}); err == nil {
		t.Error("a duplicate path is accepted")
	}
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}
