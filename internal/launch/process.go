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

// strayDelay is how long output is still awaited, and the end of a process whose
// connection broke off. Only a process that left the group can hold the pipes open
// after the group has ended.
const strayDelay = time.Second

// process is a provider while it runs: what go-plugin calls a runner. Its own would
// end the process and none of its children, and wait for all that hold its pipes.
type process struct {
	cmd   *exec.Cmd
	group *extprog.Group
	// dir has the working directory and the provider's temporary files.
	dir string
	// cancel ends the provider, and says why; cancelled tells whether it was called.
	cancel    context.CancelCauseFunc
	cancelled func() bool
	meter     *meter
	// Of stdout the first line is kept, and of stderr the end.
	stdout, stderr pipe
	first          firstLine
	tail           extprog.Tail

	// started tells that there was a process, refused why the system made none.
	started bool
	refused error
	// met tells that the handshake was right, died that the process ended where it
	// should have answered.
	met, died bool
	// ended is closed when the process has ended. What follows is known then.
	ended chan struct{}
	err   error
	// alone tells that nobody ended it, left that others remained when it had ended.
	alone, left bool
}

func newProcess(ctx context.Context, executable, dir string, maxOutput int64, cancel context.CancelCauseFunc) *process {
	p := &process{dir: dir, cancel: cancel, ended: make(chan struct{})}
	p.cancelled = func() bool { return ctx.Err() != nil }
	p.meter = newMeter(maxOutput, func() { cancel(errOutput) })
	p.cmd = exec.CommandContext(ctx, executable)
	return p
}

// prepare sets the environment of the process, to which the handshake's variables
// belong, and its directories.
func (p *process) prepare(handshake []string) error {
	work, temporary := filepath.Join(p.dir, "w"), p.home()
	for _, dir := range []string{work, temporary} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	// OpenTofu gives no directory for sockets: they are temporary files then.
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

// home is where the provider may write. Its sockets are there, whose paths may not
// be long.
func (p *process) home() string { return filepath.Join(p.dir, "t") }

// Start starts the process in a group of its own.
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

// await waits for the process and ends what it leaves.
func (p *process) await() {
	p.err = p.cmd.Wait()
	p.alone = !p.cancelled()
	if p.alone {
		p.left = p.leaves()
	}
	p.group.Kill()
	p.group.Close()
	strays := killStrays(p.home())
	p.left = p.left || p.alone && strays
	close(p.ended)
	time.AfterFunc(strayDelay, p.closePipes)
}

// leaves reports whether the process has left others behind. Those that end with
// their parent have a moment for it, as has the system to forget them.
func (p *process) leaves() bool {
	const step = 10 * time.Millisecond
	for waited := time.Duration(0); p.group.Others(); waited += step {
		if waited >= strayDelay || p.cancelled() {
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

// settle lets a process that is about to end do so, and tells whether it did: its
// pipes and its connection break off a little earlier.
func (p *process) settle() bool {
	timer := time.NewTimer(strayDelay)
	defer timer.Stop()
	select {
	case <-p.ended:
		return true
	case <-timer.C:
		return false
	}
}

// Wait waits for the end of the process.
func (p *process) Wait(context.Context) error {
	<-p.ended
	return p.err
}

// Kill ends the whole group.
func (p *process) Kill(context.Context) error {
	if p.started {
		p.settle() // else one that has just ended by itself could not be told from it
	}
	p.cancel(errStopped)
	return nil
}

// Stdout is what the process prints.
func (p *process) Stdout() io.ReadCloser { return &p.stdout }

// Stderr is what the process writes there.
func (p *process) Stderr() io.ReadCloser { return &p.stderr }

// Name is for go-plugin's log, which nobody reads.
func (p *process) Name() string { return p.cmd.Path }

// ID is the number of the process; go-plugin ends nothing that has none.
func (p *process) ID() string {
	if p.cmd.Process == nil {
		return "-"
	}
	return strconv.Itoa(p.cmd.Process.Pid)
}

// Diagnose would add guesses to an error of go-plugin that is judged here.
func (*process) Diagnose(context.Context) string { return "" }

// PluginToHost lets a provider name addresses of this machine only: else it would
// decide whom we connect to.
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

// HostToPlugin is for servers of ours that a provider calls, of which there are none.
func (*process) HostToPlugin(string, string) (string, string, error) {
	return "", "", errors.ErrUnsupported
}
