package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

// gracePeriod is how long go-plugin waits after it has asked a provider to exit.
const gracePeriod = 2 * time.Second

// Causes of a canceled context that stopped a provider before it sent its schema.
var (
	errTime    = errors.New("exceeded the time limit")
	errOutput  = errors.New("exceeded the output limit")
	errStopped = errors.New("stopped")
)

// Start starts a provider, performs the handshake over mutual TLS in the same way as
// OpenTofu, and requests the schema. It then stops the provider and all processes in
// its group. executable must be a file for the current platform. Start returns the
// context's error, an *[Error], or an error about local files.
func Start(ctx context.Context, executable string, o Options) (report Report, err error) {
	if executable, err = filepath.Abs(executable); err != nil {
		return Report{}, err
	}
	// 1. Create an empty directory. It is removed at the end.
	dir, err := atomicfile.NewScratchDir(o.TempDir)
	if err != nil {
		return Report{}, err
	}
	if dir, err = filepath.Abs(dir); err != nil { // the provider has a different working directory
		return Report{}, err
	}
	defer func() { err = cmp.Or(err, os.RemoveAll(dir)) }()
	// 2. Start the timeout. Canceling ctx kills the provider.
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout(), errTime)
	defer cancel()
	p := newProcess(ctx, executable, dir, o, stop)
	client := p.client(dir)
	// 3. Request the schema.
	report, problem := p.interview(ctx, client)
	// 4. Stop the provider.
	cause := context.Cause(ctx)
	forced := time.AfterFunc(gracePeriod+p.delays.exit, func() { stop(errStopped) })
	defer forced.Stop()
	client.Kill()
	if problem != nil {
		return Report{}, p.failure(problem, cause, o)
	}
	if p.left {
		return Report{}, &Error{Fault: Children, Problem: "the provider left child processes running when it exited", Stderr: p.stderrEnd()}
	}
	return report, nil
}

// client returns the go-plugin client.
func (p *process) client(dir string) *plugin.Client {
	return plugin.NewClient(&plugin.ClientConfig{
		// OpenTofu and all providers since Terraform 0.10 use these values.
		HandshakeConfig: plugin.HandshakeConfig{
			MagicCookieKey:   "TF_PLUGIN_MAGIC_COOKIE",
			MagicCookieValue: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
		},
		VersionedPlugins: map[int]plugin.PluginSet{5: {}, 6: {}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         true,
		SkipHostEnv:      true,
		// The timeout in Options is shorter.
		StartTimeout: time.Hour,
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, _ string) (runner.Runner, error) {
			err := p.prepare(cmd.Env)
			return p, err
		},
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: dir},
		GRPCDialOptions:  []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxSchema))},
		Logger:           hclog.New(&hclog.LoggerOptions{Level: hclog.Off, Output: io.Discard}),
		SyncStdout:       p.meter,
		SyncStderr:       p.meter,
	})
}

// interview performs the handshake and requests the schema.
func (p *process) interview(ctx context.Context, client *plugin.Client) (report Report, err error) {
	defer func() {
		if err != nil && p.started {
			p.died = p.settle() && p.alone
		}
	}()
	began := time.Now()
	if _, err := client.Start(); err != nil {
		return Report{}, err
	}
	report.Started, report.Protocol = time.Since(began), client.NegotiatedVersion()
	p.met = true
	protocol, err := client.Client()
	if err != nil {
		return Report{}, err
	}
	connected, ok := protocol.(*plugin.GRPCClient)
	if !ok {
		return Report{}, fmt.Errorf("unexpected plugin client %T", protocol) // AllowedProtocols excludes other protocols
	}
	if err := askSchema(ctx, connected.Conn, &report); err != nil {
		return Report{}, err
	}
	report.Memory = p.group.PeakMemory()
	return report, nil
}

// failure returns the error for a provider that has exited. err is the observed error.
// cause is the cancellation's cause, or nil.
func (p *process) failure(err, cause error, o Options) error {
	problem := p.problem(err, cause, o)
	if e, ok := errors.AsType[*Error](problem); ok && e.Stderr == "" {
		e.Stderr = p.stderrEnd()
	}
	return problem
}

func (p *process) problem(err, cause error, o Options) error {
	line, complete := p.firstLine()
	switch {
	case errors.Is(cause, errOutput):
		return fail(Flooded, "the provider printed more than %d bytes", o.maxOutput())
	case errors.Is(cause, errTime) && p.met:
		return fail(Hung, "the provider did not send its schema within %s", o.timeout())
	case errors.Is(cause, errTime) && line != "":
		return fail(Handshake, "the provider did not finish its handshake line within %s: %q", o.timeout(), short(line))
	case errors.Is(cause, errTime):
		return fail(Hung, "the provider printed no handshake within %s", o.timeout())
	case cause != nil && !errors.Is(cause, errStopped):
		return cause
	case p.refused != nil:
		return fail(NotStarted, "the system cannot start the provider: %s", short(reason(p.refused)))
	case !p.started:
		return err // an error about a local file
	case p.met && p.died:
		return fail(Ended, "the provider exited before it sent its schema: %s", p.cmd.ProcessState)
	case p.met:
		return schemaProblem(err)
	case line == "" && !complete && p.died:
		return fail(Ended, "the provider exited before the handshake: %s", p.cmd.ProcessState)
	case line == "" && !complete:
		return fail(Handshake, "the provider closed its output without a handshake")
	case len(line) == maxLine:
		return fail(Flooded, "the provider printed more than %d bytes without a newline: %q", maxLine-1, short(line))
	}
	if problem := handshakeProblem(line); problem != nil {
		return problem
	}
	return fail(Handshake, "invalid handshake: %s", short(err.Error()))
}

// reason removes the path of the unpacked provider from an error.
func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return err.Error()
}
