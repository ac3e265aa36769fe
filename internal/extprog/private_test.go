package extprog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
)

func TestRunKeepsPrivateOutput(t *testing.T) {
	t.Parallel()
	for _, output := range []string{"hunter2", "hunter2 {}", `{"Secret":"hunter2"`, `{"Secret":"hunter2"} {}`, `["hunter2"]`} {
		out, err := run(t, "print", extprog.Call{Private: true}, output)
		wrong, ok := errors.AsType[*extprog.Error](err)
		if !ok || wrong.Failure != extprog.WrongOutput || wrong.Problem == "" {
			t.Errorf("%q, %v, want wrong output", out, err)
		}
		if text := fmt.Sprintf("%v %+v %#v", err, wrong, wrong); strings.Contains(text, "hunter") {
			t.Errorf("error %q contains the output", text)
		}
	}
	if out, err := run(t, "print", extprog.Call{Private: true}, `{"Secret":"hunter2"}`); out != `{"Secret":"hunter2"}` || err != nil {
		t.Errorf("a good answer is %q, %v", out, err)
	}
}

func TestRunParsesRefusals(t *testing.T) {
	t.Parallel()
	notThere := errors.New("not there")
	var read []string
	call := extprog.Call{Refusal: func(stdout []byte) error {
		read = append(read, string(stdout))
		if len(read) == 1 {
			return notThere
		}
		return nil
	}}
	if _, err := run(t, "refuse", call, "no such entry"); !errors.Is(err, notThere) {
		t.Errorf("error %v, want the one that the refusal means", err)
	}
	if _, err := run(t, "refuse", call, "broken"); !extprog.IsFailure(err, extprog.Exited) || !strings.Contains(err.Error(), "exit status 3") || strings.Contains(err.Error(), "broken") {
		t.Errorf("error %v, want exit status 3 without the output", err)
	}
	if _, err := run(t, "print", call, "{}"); err != nil {
		t.Error(err)
	}
	if got := strings.Join(read, ", "); got != "no such entry, broken" {
		t.Errorf("read %q", got)
	}
}
