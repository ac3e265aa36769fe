package launch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"
)

// TestMain lets the test program act as one of the providers below. The file name
// selects the provider, because a provider gets neither arguments nor our environment.
func TestMain(m *testing.M) {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "terraform-provider-"), "_")
	provider, known := map[string]func() error{
		"five":           func() error { return serve(5, fakeSchema) },
		"six":            func() error { return serve(6, fakeSchema) },
		"message":        message,
		"exits":          exits,
		"hangs":          hangs,
		"stubborn":       stubborn,
		"garbage":        garbage,
		"endless":        endless,
		"half":           half,
		"cut":            prints("1|6|unix"),
		"closes":         closes,
		"netrpc":         prints("1|5|tcp|127.0.0.1:1|netrpc"),
		"four":           prints("1|4|tcp|127.0.0.1:1|grpc"),
		"core":           prints("2|6|tcp|127.0.0.1:1|grpc"),
		"elsewhere":      prints("1|6|tcp|192.0.2.1:443|grpc|"),
		"plain":          plain,
		"chatty":         chatty,
		"no-schema":      func() error { return serve(6, nil) },
		"bad-schema":     func() error { return serve(6, answer([]byte{0xff})) },
		"diagnostic":     func() error { return serve(6, answer(diagnostic())) },
		"huge-schema":    func() error { return serve(6, answer(field(1, make([]byte, 65<<20)))) },
		"dying-schema":   func() error { return serve(6, dies) },
		"hanging-schema": func() error { return serve(6, func() ([]byte, error) { return nil, child() }) },
		"leaves":         func() error { return withChild(nil, func() error { return serve(6, fakeSchema) }) },
		"daemon":         func() error { return withChild(leaving(), func() error { return serve(6, fakeSchema) }) },
		"surroundings":   surroundings,
		"child":          child,
	}[name]
	if !known {
		os.Exit(m.Run())
	}
	if err := provider(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve runs a provider with go-plugin. answer returns the provider's schema. If answer
// is nil, the provider never responds.
func serve(protocol int, answer func() ([]byte, error)) error {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			MagicCookieKey:   "TF_PLUGIN_MAGIC_COOKIE",
			MagicCookieValue: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
		},
		VersionedPlugins: map[int]plugin.PluginSet{protocol: {"provider": &fake{protocol: protocol, answer: answer}}},
		GRPCServer:       plugin.DefaultGRPCServer,
		Logger:           hclog.NewNullLogger(),
	})
	return nil
}

// fake implements one method of a provider's service.
type fake struct {
	plugin.NetRPCUnsupportedPlugin
	protocol int
	answer   func() ([]byte, error)
}

func (f *fake) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	if f.answer == nil {
		return nil
	}
	method := map[int]string{5: "GetSchema", 6: "GetProviderSchema"}[f.protocol]
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: fmt.Sprintf("tfplugin%d.Provider", f.protocol),
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: method,
			Handler: func(any, context.Context, func(any) error, grpc.UnaryServerInterceptor) (any, error) {
				content, err := f.answer()
				message := &emptypb.Empty{} // unknown fields are sent unchanged
				message.ProtoReflect().SetUnknown(content)
				return message, err
			},
		}},
	}, nil)
	return nil
}

func (f *fake) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.ErrUnsupported
}

func answer(content []byte) func() ([]byte, error) {
	return func() ([]byte, error) { return content, nil }
}

func field(number protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), content)
}

// fakeSchema returns a schema with 4 resources, 3 data sources, 2 functions, 1
// ephemeral resource, other fields, and a warning.
func fakeSchema() ([]byte, error) {
	var schema []byte
	for number, times := range map[protowire.Number]int{1: 1, 2: 4, 3: 3, 5: 1, 7: 2, 8: 1, 9: 7, 11: 5} {
		for i := range times {
			schema = append(schema, field(number, field(1, fmt.Append(nil, "entry ", i)))...)
		}
	}
	warning := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 2)
	schema = append(schema, field(4, append(warning, field(2, []byte("old"))...))...)
	return schema, nil
}

func diagnostic() []byte {
	problem := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)
	problem = append(problem, field(2, []byte("two resources\nof one name"))...)
	return field(4, append(problem, field(3, []byte("x and x"))...))
}

func dies() ([]byte, error) {
	panic("out of luck")
}

func message() error {
	fmt.Println("libfrob.so.3 is missing:\x1b[31m install it")
	return errors.New("giving up")
}

func exits() error {
	fmt.Fprintln(os.Stderr, "no license")
	os.Exit(3)
	return nil
}

func hangs() error {
	time.Sleep(time.Hour)
	return nil
}

// stubborn ignores requests to exit, and starts a child.
func stubborn() error {
	signal.Ignore(syscall.SIGTERM, os.Interrupt)
	return withChild(nil, hangs)
}

func garbage() error {
	for {
		if _, err := fmt.Println("\x00\xff\xfe garbage"); err != nil {
			return err
		}
	}
}

func endless() error {
	for {
		if _, err := fmt.Print(strings.Repeat("x", 1000)); err != nil {
			return err
		}
	}
}

func half() error {
	fmt.Print("1|6|un")
	return child()
}

func closes() error {
	if err := os.Stdout.Close(); err != nil {
		return err
	}
	return hangs()
}

// prints returns a provider that prints a line and keeps running.
func prints(line string) func() error {
	return func() error {
		fmt.Println(line)
		return hangs()
	}
}

// plain uses gRPC without TLS.
func plain() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	if err := (&fake{protocol: 6, answer: fakeSchema}).GRPCServer(nil, server); err != nil {
		return err
	}
	fmt.Printf("1|6|tcp|%s|grpc\n", listener.Addr())
	return server.Serve(listener)
}

// chatty works correctly, but prints endlessly to the stdout that go-plugin replaces.
func chatty() error {
	stdout := os.Stdout
	return serve(6, func() ([]byte, error) {
		for {
			if _, err := fmt.Fprintln(stdout, strings.Repeat("x", 1000)); err != nil {
				return nil, err
			}
		}
	})
}

// surroundings records the environment of a provider.
func surroundings() error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	stdin, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	content, err := json.Marshal(given{Args: os.Args[1:], Dir: dir, Entries: len(entries), Environment: os.Environ(), Stdin: string(stdin)})
	if err != nil {
		return err
	}
	return os.WriteFile(sibling("given"), content, 0o600)
}

type given struct {
	Args        []string
	Dir         string
	Entries     int
	Environment []string
	Stdin       string
}

// sibling returns the path of a file next to the provider. The tests use such files for
// communication.
func sibling(name string) string { return filepath.Join(filepath.Dir(os.Args[0]), name) }

// withChild starts a child that keeps stdout and stderr open. When the child has
// connected to the test, withChild calls then.
func withChild(attributes *syscall.SysProcAttr, then func() error) error {
	cmd := &exec.Cmd{Path: os.Args[0], Args: []string{sibling("child")}, Stdout: os.Stdout, Stderr: os.Stderr, SysProcAttr: attributes}
	ready, err := cmd.StdinPipe() // the child closes it
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	for { // the loop ends when the pipe is closed
		if _, err := ready.Write(make([]byte, 1<<10)); err != nil {
			return then()
		}
	}
}

// child connects to the test, and runs until the test closes the connection.
func child() error {
	address, err := os.ReadFile(sibling("address"))
	if err != nil {
		return err
	}
	conn, err := net.Dial("tcp", string(address))
	if err != nil {
		return err
	}
	if err := os.Stdin.Close(); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}
