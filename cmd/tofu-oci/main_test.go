package main_test

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// program is the name under which scripts run the program. programOnFullDisk is the
// name that simulates a full disk.
const (
	program           = "tofu-oci-program"
	programOnFullDisk = "tofu-oci-on-full-disk"
)

func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){
		program: ordinary, programOnFullDisk: onFullDisk, "make-sbom": makeSBOM, "make-repository": makeRepository, "aws": aws, "child": child,
	})
}

// tests runs the tests without the CI variables that affect the program.
type tests struct{ *testing.M }

func (t tests) Run() int {
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if name == "GITHUB_STEP_SUMMARY" || strings.HasPrefix(name, "TOFU_OCI_") {
			if err := os.Unsetenv(name); err != nil {
				log.Fatal(err)
			}
		}
	}
	code := t.M.Run()
	if signers.gpg != nil {
		_ = signers.gpg.Close()
	}
	return code
}

// TestScripts runs the testscripts. Each command has at least one script. In addition
// to testscript's commands, scripts can use the commands below. Each script has a
// separate origin registry at $ORIGIN, which serves registry.opentofu.org, and a
// separate OCI registry at $REGISTRY. The web server at $WEB serves the directory `www`.
func TestScripts(t *testing.T) {
	t.Parallel()
	params := scripts(filepath.Join("testdata", "script"))
	params.UpdateScripts = *update
	if testing.Short() {
		params.Dir, params.Files = "", shortScripts()
	}
	testscript.Run(t, params)
}

// shortScripts returns the scripts to run with -short, which cover the main commands.
func shortScripts() (files []string) {
	for _, name := range []string{
		"mirror", "module_push", "publish", "pull", "copy", "lock_check", "exec", "verify", "tofurc",
	} {
		files = append(files, filepath.Join("testdata", "script", name+".txtar"))
	}
	return files
}

func scripts(dir string) testscript.Params {
	return testscript.Params{
		Dir:   dir,
		Setup: newWorld,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"tofu-oci":    cmdTofuOCI,
			"code":        cmdCode,
			"answers":     cmdAnswers,
			"interrupt":   cmdInterrupt,
			"full":        cmdFull,
			"origin":      cmdOrigin,
			"registry":    cmdRegistry,
			"mutual-tls":  cmdMutualTLS,
			"proxy":       cmdProxy,
			"release":     cmdRelease,
			"module":      cmdModule,
			"misbehave":   cmdMisbehave,
			"behave":      cmdBehave,
			"requests":    cmdRequests,
			"forge":       cmdForge,
			"empty":       cmdEmpty,
			"damage":      cmdDamage,
			"damage-zip":  cmdDamageZip,
			"build":       cmdBuild,
			"sums":        cmdSums,
			"expand":      cmdExpand,
			"retag":       cmdRetag,
			"remedy":      cmdRemedy,
			"normalize":   cmdNormalize,
			"hint":        cmdHint,
			"litter":      cmdLitter,
			"events":      cmdEvents,
			"keys":        cmdKeys,
			"sign":        cmdSign,
			"secret-key":  cmdSecretKey,
			"server":      cmdServer,
			"get":         cmdGet,
			"metrics":     cmdMetrics,
			"certificate": cmdCertificate,
		},
	}
}

// world is the environment of a script.
type world struct {
	origin   atomic.Pointer[origintest.Origin]
	registry atomic.Pointer[registrytest.Registry]
	ca       *testca.CA
	// before contains the request counts before the last run.
	before map[string]int
	// reached receives a value when a request hangs.
	reached chan struct{}
	// serving is the server that the script started.
	serving *serving
}

type worldKey struct{}

func worldOf(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

// newWorld starts the servers and hides the machine's own configuration.
func newWorld(env *testscript.Env) error {
	ca, err := testca.New()
	if err != nil {
		return err
	}
	w := &world{ca: ca, reached: make(chan struct{}, 1)}
	w.origin.Store(origintest.New(origintest.Options{}))
	w.registry.Store(registrytest.New(registrytest.Options{}))
	at, err := serve(env, ca, withSigned(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.origin.Load().ServeHTTP(rw, r) })))
	if err != nil {
		return err
	}
	registryAt, err := serve(env, ca, withWebhook(env.WorkDir, withSigned(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.registry.Load().ServeHTTP(rw, r) }))))
	if err != nil {
		return err
	}
	web, err := serve(env, ca, http.FileServer(http.Dir(filepath.Join(env.WorkDir, "www"))))
	if err != nil {
		return err
	}
	env.Values[worldKey{}] = w
	control := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		w.registry.Load().Create(strings.TrimPrefix(r.URL.Path, "/"))
	}))
	env.Defer(control.Close)
	env.Vars = append(env.Vars,
		"HOME="+filepath.Join(env.WorkDir, "home"), "USERPROFILE="+filepath.Join(env.WorkDir, "home"),
		"DOCKER_CONFIG="+filepath.Join(env.WorkDir, "docker"),
		noSleep, noTimeout, "GOGC="+os.Getenv("GOGC"),
		"SSL_CERT_FILE="+os.DevNull, "SSL_CERT_DIR="+filepath.Join(env.WorkDir, "no-certificates"),
		"ORIGIN="+at, "REGISTRY="+registryAt, "WEB="+web, "HERE="+provider.CurrentPlatform().String(),
		"CONTROL="+control.URL, "PLAIN="+strings.TrimPrefix(control.URL, "http://"), "WEBHOOK=https://"+registryAt+webhookPath,
		"TOFU_OCI_EVENTS="+filepath.Join(env.WorkDir, eventsFile), "GITHUB_STEP_SUMMARY="+filepath.Join(env.WorkDir, summaryFile),
	)
	if err := os.WriteFile(filepath.Join(env.WorkDir, "ca.pem"), ca.PEM(), 0o600); err != nil {
		return err
	}
	config := "host \"registry.opentofu.org\" {\n  services = {\n    \"providers.v1\" = \"https://" + at + "/v1/providers/\"\n    \"modules.v1\" = \"https://" + at + "/v1/modules/\"\n  }\n}\n"
	return os.WriteFile(filepath.Join(env.WorkDir, "tofurc"), []byte(config), 0o600)
}

// serve starts a TLS server and returns its address "localhost:PORT".
func serve(env interface{ Defer(func()) }, ca *testca.CA, handler http.Handler, edit ...func(*tls.Config)) (string, error) {
	config, err := ca.ServerConfig("localhost")
	if err != nil {
		return "", err
	}
	for _, change := range edit {
		change(config)
	}
	server := httptest.NewUnstartedServer(handler)
	server.TLS = config
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	env.Defer(func() {
		server.CloseClientConnections() // close hanging connections
		server.Close()
	})
	return "localhost" + server.URL[strings.LastIndex(server.URL, ":"):], nil
}
