package credentials_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// canary is a secret that must never be printed.
	canary = "canary-5ecret"
	// logVariable is the environment variable that specifies the file in which helpers
	// record their requests.
	logVariable = "LOGINS_TEST_LOG"
	prefix      = "docker-credential-"
)

// errUnknown contains the message that helpers built with Docker's library print for
// missing credentials. Such helpers exit with status 1.
var errUnknown = errors.New("credentials not found in native keychain")

// helperAnswers contains the helpers that the test program emulates. Each function
// returns the helper's output for a server, or an error for exit status 1.
var helperAnswers = map[string]func(server string) (string, error){
	"plain": func(server string) (string, error) {
		if strings.Contains(server, "://") {
			return errUnknown.Error() + "\n", errUnknown
		}
		return credentialsJSON("plain", canary), nil
	},
	"url": func(server string) (string, error) {
		if !strings.HasPrefix(server, "https://") {
			return errUnknown.Error(), errUnknown
		}
		return credentialsJSON("url", canary), nil
	},
	"hub": func(server string) (string, error) {
		if server != "https://index.docker.io/v1/" {
			return errUnknown.Error(), errUnknown
		}
		return credentialsJSON("hub", canary), nil
	},
	"fresh": func(string) (string, error) {
		return credentialsJSON("fresh", fmt.Sprint(canary, time.Now().UnixNano())), nil
	},
	"stale":    func(server string) (string, error) { return credentialsJSON("stale", canary+" for "+server), nil },
	"twofaced": func(server string) (string, error) { return credentialsJSON("for "+server, canary), nil },
	"token":    func(string) (string, error) { return credentialsJSON("<token>", canary), nil },
	"it's":     func(string) (string, error) { return credentialsJSON("quoted", canary), nil },
	"none":     func(string) (string, error) { return "Error: Credentials not found here\n", errUnknown },
	"silent":   func(string) (string, error) { return "", nil },
	"empty":    func(string) (string, error) { return credentialsJSON("", ""), nil },
	"nameonly": func(string) (string, error) { return credentialsJSON("user", ""), nil },
	"broken":   func(string) (string, error) { return canary + credentialsJSON("user", canary), nil },
	"cut":      func(string) (string, error) { return strings.TrimRight(credentialsJSON("user", canary), "}"), nil },
	"number":   func(string) (string, error) { return `{"Username":"user","Secret":["` + canary + `"]}`, nil },
	"failing": func(string) (string, error) {
		return credentialsJSON("user", canary), errors.New("the keychain is locked")
	},
	"locked": func(string) (string, error) {
		return "pass not initialized: exit status 1, token " + canary + "\n", errors.New("")
	},
	"spilling": func(string) (string, error) { return canary + "\n", errors.New("") },
	"flood":    func(string) (string, error) { return strings.Repeat(canary, 1<<17), nil },
	"hanging":  hang,
}

// hang connects to the server and waits forever.
func hang(server string) (string, error) {
	conn, err := net.Dial("tcp", server)
	if err != nil {
		return "", err
	}
	_, err = conn.Read(make([]byte, 1))
	return "", err
}

func credentialsJSON(username, secret string) string {
	return fmt.Sprintf(`{"ServerURL":"ignored","Username":%q,"Secret":%q}`, username, secret)
}

// TestMain lets the test program act as a credential helper. The helpers are installed
// in the first directory of PATH.
func TestMain(m *testing.M) {
	if name, isHelper := strings.CutPrefix(strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"), prefix); isHelper {
		os.Exit(help(name))
	}
	if strings.HasPrefix(strings.ToLower(filepath.Base(os.Args[0])), tokenPrefix) {
		os.Exit(printToken(os.Args[1:]))
	}
	dir, err := installHelpers()
	code := 1
	if err == nil {
		code = m.Run()
		err = os.RemoveAll(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// installHelpers installs the helpers in a new directory and returns the directory,
// which the caller must remove.
func installHelpers() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "logins-test-")
	if err != nil {
		return "", err
	}
	suffix := filepath.Ext(self)
	if runtime.GOOS != "windows" {
		suffix = ""
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(helperAnswers)), slices.Collect(maps.Keys(helpersThatKeep))) {
		if err := link(self, filepath.Join(dir, prefix+name+suffix)); err != nil {
			return dir, err
		}
	}
	// By default, the race detector delays each helper's exit by a second.
	for _, v := range [][2]string{
		{"PATH", dir + string(filepath.ListSeparator) + os.Getenv("PATH")},
		{logVariable, filepath.Join(dir, "log")},
		{"GORACE", "atexit_sleep_ms=0"},
	} {
		if err := os.Setenv(v[0], v[1]); err != nil {
			return dir, err
		}
	}
	return dir, os.WriteFile(filepath.Join(dir, "log"), nil, 0o600)
}

// link makes a program available at a second path. On Windows, it copies the program,
// because most users cannot create links.
func link(old, path string) error {
	if os.Symlink(old, path) == nil {
		return nil
	}
	data, err := os.ReadFile(old)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o700)
}

// help runs a helper and returns its exit status.
func help(name string) int {
	server, err := io.ReadAll(os.Stdin)
	if keep, keeps := helpersThatKeep[name]; err == nil && keeps && len(os.Args) == 2 {
		return keep(os.Args[1], server)
	}
	if err != nil || len(os.Args) != 2 || os.Args[1] != "get" {
		fmt.Fprintln(os.Stderr, "not the protocol of credential helpers:", os.Args, err)
		return 2
	}
	log, err := os.OpenFile(os.Getenv(logVariable), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	fmt.Fprintf(log, "%s %s\n", name, server)
	output, err := helperAnswers[name](string(server))
	fmt.Print(output)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// hosts counts the hosts that newHost has returned.
var hosts atomic.Int64

// newHost returns a host that is unique to the calling test.
func newHost(name string) string { return fmt.Sprintf("%s-%d.example", name, hosts.Add(1)) }

// requests returns the requests to helpers for a host, in order.
func requests(t *testing.T, host string) []string {
	t.Helper()
	data, err := os.ReadFile(os.Getenv(logVariable))
	if err != nil {
		t.Fatal(err)
	}
	var questions []string
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, host) {
			questions = append(questions, strings.TrimSpace(line))
		}
	}
	return questions
}
