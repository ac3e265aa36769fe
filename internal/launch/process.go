package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-plugin"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
)

// process is a running provider. It implements go-plugin's runner interface.
// go-plugin's own implementation does not kill child processes, and it waits for all
// processes that keep the pipes open.
type process struct {
	cmd   *exec.Cmd
	group *extprog.Group
	// dir contains the working directory and the provider's temporary files.
	dir string
	// cancel stops the provider with a cause. canceled reports whether cancel was
	// called.
	cancel   context.CancelCauseFunc
	canceled func() bool
	delays   delays
	meter    *meter
	// The first line of stdout and the end of stderr are stored.
	stdout, stderr pipe
	first          firstLine
	tail           extprog.Tail

	// started is set after the process has started. If starting fails, refused is the
	// error.
	started bool
	refused error
	// met is set after a valid handshake. died is set if the process exited before it
	// responded.
	met, died bool
	// ended is closed when the process has exited. The fields below are valid only
	// after ended is closed.
	ended chan struct{}
	err   error
	// alone is set if the process exited without being killed. left is set if other
	// processes in its group remained.
	alone, left bool
}

func newProcess(ctx context.Context, executable, dir string, o Options, cancel context.CancelCauseFunc) *process {
	p := &process{dir: dir, cancel: cancel, delays: o.delaysOrDefault(), ended: make(chan struct{})}
	p.canceled = func() bool { return ctx.Err() != nil }
	p.meter = newMeter(o.maxOutput(), func() { cancel(errOutput) })
	p.cmd = exec.CommandContext(ctx, executable)
	return p
}

// prepare creates the directories and sets the environment. The environment includes
// the handshake's variables.
func (p *process) prepare(handshake []string) error {
	work, temporary := filepath.Join(p.dir, "w"), p.home()
	for _, dir := range []string{work, temporary} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	// Like OpenTofu, do not set a directory for sockets. The provider then creates
	// sockets as temporary files.
	handshake = slices.DeleteFunc(slices.Clone(handshake), func(v string) bool {
		return strings.HasPrefix(v, plugin.EnvUnixSocketDir+"=")
	})
	p.cmd.Dir = work
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, handshake...)
	for _, name := range []string{"HOME", "USERPROFILE", "TMPDIR", "TMP", "TEMP"} {
		p.cmd.Env = append(p.cmd.Env, name+"="+temporary)
	}
	return nil
}

// home is the directory to which the provider can write. It contains sockets, whose
// paths must be short.
func (p *process) home() string { return filepath.Join(p.dir, "t") }

// Start starts the process in its own process group.
func (p *process) Start(context.Context) error {
	out, outWrite, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = outWrite.Close() }()
	errs, errsWrite, err := os.Pipe()
	if err != nil {
		_ = out.Close()
		return err
	}
	defer func() { _ = errsWrite.Close() }()
	p.stdout.file, p.stdout.meter, p.stdout.observer = out, p.meter, &p.first
	p.stderr.file, p.stderr.meter, p.stderr.observer = errs, p.meter, &p.tail
	p.cmd.Stdout, p.cmd.Stderr = outWrite, errsWrite
	if err = p.begin(); err != nil {
		p.closePipes()
	}
	return err
}

func (p *process) begin() (err error) {
	if p.group, err = extprog.NewGroup(p.cmd); err != nil {
		return err
	}
	if p.refused = p.cmd.Start(); p.refused != nil {
		p.group.Close()
		return p.refused
	}
	p.started = true
	p.group.Add(p.cmd.Process)
	go p.await()
	return nil
}

// await waits for the process and kills the remaining processes.
func (p *process) await() {
	p.err = p.cmd.Wait()
	p.alone = !p.canceled()
	if p.alone {
		p.left = p.leaves()
	}
	p.group.Kill()
	p.group.Close()
	strays := killStrays(p.home())
	p.left = p.left || p.alone && strays
	close(p.ended)
	time.AfterFunc(p.delays.strays, p.closePipes)
}

// leaves reports whether the process left child processes running. It waits briefly,
// because children can exit together with their parent, and the system needs time to
// remove them.
func (p *process) leaves() bool {
	const step = 10 * time.Millisecond
	for waited := time.Duration(0); p.group.Others(); waited += step {
		if waited >= p.delays.strays || p.canceled() {
			return true
		}
		time.Sleep(step)
	}
	return false
}

func (p *process) closePipes() {
	_ = p.stdout.Close()
	_ = p.stderr.Close()
}

// settle waits briefly for the process to exit and reports whether it has exited. Its
// pipes and its connection close slightly before it exits.
func (p *process) settle() bool {
	timer := time.NewTimer(p.delays.exit)
	defer timer.Stop()
	select {
	case <-p.ended:
		return true
	case <-timer.C:
		return false
	}
}

// Wait waits for the process to exit.
func (p *process) Wait(context.Context) error {
	<-p.ended
	return p.err
}

// Kill kills the process group.
func (p *process) Kill(context.Context) error {
	if p.started {
		p.settle() // a process that is already exiting must not be reported as killed
	}
	p.cancel(errStopped)
	return nil
}

// Stdout returns the process's stdout.
func (p *process) Stdout() io.ReadCloser { return &p.stdout }

// Stderr returns the process's stderr.
func (p *process) Stderr() io.ReadCloser { return &p.stderr }

// Name returns the name for go-plugin's log, which is discarded.
func (p *process) Name() string { return p.cmd.Path }

// ID returns the process ID. go-plugin does not stop a process without an ID.
func (p *process) ID() string {
	if p.cmd.Process == nil {
		return "-"
	}
	return strconv.Itoa(p.cmd.Process.Pid)
}

// Diagnose returns nothing, because the caller diagnoses errors itself.
func (*process) Diagnose(context.Context) string { return "" }

// PluginToHost accepts only addresses on this machine. Otherwise, the provider could
// choose the host to which tofu-oci connects.
func (*process) PluginToHost(network, address string) (string, string, error) {
	if network != "tcp" {
		return network, address, nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return "", "", err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", "", fmt.Errorf("%s is not an address of this machine", address)
	}
	return network, address, nil
}

// HostToPlugin returns an error. go-plugin uses it to translate the addresses of
// servers to which providers connect, but tofu-oci starts no such servers.
func (*process) HostToPlugin(string, string) (string, string, error) {
	return "", "", errors.ErrUnsupported
}
