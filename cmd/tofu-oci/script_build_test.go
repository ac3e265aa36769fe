package main_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// build DIR TYPE VERSION PLATFORM... [OPTION...] creates zips like a build. The provider is a
// shell script. Options:
//
//	salt=TEXT  different contents
//	name=NAME  name of the executable
//	mode=OCTAL mode of the executable, or none
//	helpers    three additional files with different modes
//	versions=N N versions; their numbers replace %d
func cmdBuild(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 4 {
		ts.Fatalf("usage: build DIR TYPE VERSION PLATFORM... [OPTION...]")
	}
	dir, typ, version := ts.MkAbs(args[0]), args[1], args[2]
	ts.Check(os.MkdirAll(dir, 0o755))
	options := map[string]string{"name": "terraform-provider-" + typ + "_v" + version, "mode": "755"}
	var platforms []string
	for _, arg := range args[3:] {
		if _, err := provider.ParsePlatform(arg); err == nil {
			platforms = append(platforms, arg)
			continue
		}
		name, value, _ := strings.Cut(arg, "=")
		options[name] = value
	}
	if n, err := strconv.Atoi(options["versions"]); err == nil {
		for i := range n {
			cmdBuild(ts, false, append([]string{args[0], typ, fmt.Sprintf(version, i)}, platforms...))
		}
		return
	}
	var mode uint64
	if options["mode"] != "none" {
		var err error
		mode, err = strconv.ParseUint(options["mode"], 8, 9)
		ts.Check(err)
	}
	for _, p := range platforms {
		files := []scriptFile{{options["name"], fmt.Sprintf("#!/bin/sh\necho %s %s for %s %s\n", typ, version, p, options["salt"]), fs.FileMode(mode)}}
		if _, wanted := options["helpers"]; wanted {
			files = append(files, scriptFile{"README.md", "how to\n", 0o644}, scriptFile{"lib/helper.sh", "#!/bin/sh\n", 0o755}, scriptFile{"lib/secret.json", "{}\n", 0o600})
		}
		name := fmt.Sprintf("terraform-provider-%s_%s_%s.zip", typ, version, p)
		ts.Check(os.WriteFile(filepath.Join(dir, name), scriptZip(ts, files), 0o600))
	}
}

type scriptFile struct {
	name, content string
	mode          fs.FileMode
}

func scriptZip(ts *testscript.TestScript, files []scriptFile) []byte {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Store}
		if f.mode != 0 {
			header.SetMode(f.mode)
		}
		entry, err := archive.CreateHeader(header)
		ts.Check(err)
		_, err = io.WriteString(entry, f.content)
		ts.Check(err)
	}
	ts.Check(archive.Close())
	return out.Bytes()
}

// sums DIR TYPE VERSION [KEY] writes SHA256SUMS for a directory's zips and signs the
// file. KEY is a key from the command keys. Without KEY, a throwaway key is used.
func cmdSums(ts *testscript.TestScript, _ bool, args []string) {
	stem := filepath.Join(ts.MkAbs(args[0]), "terraform-provider-"+args[1]+"_"+args[2])
	zips, err := filepath.Glob(stem + "_*.zip")
	ts.Check(err)
	listed := map[string]digest.Digest{}
	for _, path := range zips {
		listed[filepath.Base(path)] = digest.FromString(ts.ReadFile(path))
	}
	text := sums.New(listed).Bytes()
	signature, _, err := throwaway(text)
	if len(args) > 3 {
		signature, err = signedBy(context.Background(), args[3], text)
	}
	ts.Check(err)
	ts.Check(os.WriteFile(stem+"_SHA256SUMS", text, 0o600))
	ts.Check(os.WriteFile(stem+"_SHA256SUMS.sig", signature, 0o600))
}

// makeSBOM [LOG [fail]] is an SBOM program. It appends its input to LOG.
func makeSBOM() {
	var query map[string]string
	err := json.NewDecoder(os.Stdin).Decode(&query)
	if err == nil && len(os.Args) > 1 {
		var log *os.File
		if log, err = os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			_, err = fmt.Fprintln(log, query["provider"], query["version"], query["os"], query["arch"], filepath.Base(query["binary"]))
		}
	}
	if err == nil && slices.Contains(os.Args, "fail") {
		err = fmt.Errorf("cannot look into %s", filepath.Base(query["zip"]))
	}
	ends(err)
	fmt.Printf(`{"spdxVersion":"SPDX-2.3","name":%q}`, query["os"]+"_"+query["arch"])
}

// makeRepository [fail] creates the repository that its input specifies.
func makeRepository() {
	var query map[string]string
	err := json.NewDecoder(os.Stdin).Decode(&query)
	if err == nil && slices.Contains(os.Args, "fail") {
		err = fmt.Errorf("not allowed to make %s", query["repository"])
	}
	if err == nil && !slices.Contains(os.Args, "idle") {
		err = create(query["repository"])
	}
	ends(err)
}

// aws simulates one command of the AWS CLI.
func aws() {
	at := slices.Index(os.Args, "--repository-name")
	if len(os.Args) < 3 || os.Args[1] != "ecr" || os.Args[2] != "create-repository" || at < 0 {
		ends(fmt.Errorf("aws: unknown command %q", os.Args[1:]))
	}
	ends(create(os.Args[at+1]))
	fmt.Println("REPOSITORY\t" + os.Args[at+1]) // the AWS CLI's output format "text"
}

func create(repository string) error {
	resp, err := http.Get(os.Getenv("CONTROL") + "/" + repository)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func ends(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
