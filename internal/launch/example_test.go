package launch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/launch"
)

// If this machine cannot start a provider, the error has a specific kind.
func ExampleStart() {
	if err := example(); err != nil {
		fmt.Println(err)
	}
	// Output: not started
}

func example() error {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	provider := filepath.Join(dir, "terraform-provider-widget.exe")
	if err := os.WriteFile(provider, []byte("for another machine"), 0o700); err != nil {
		return err
	}
	report, err := launch.Start(context.Background(), provider, launch.Options{})
	var problem *launch.Error
	if errors.As(err, &problem) {
		fmt.Println(problem.Fault)
		return nil
	}
	fmt.Println(report)
	return err
}
