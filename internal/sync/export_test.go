package sync

import "github.com/tofu-oci/tofu-oci/internal/gate"

// Parse parses the content of a declaration.
var Parse = parse

// Gates returns the gate blocks, which the caller can change.
func (d *Declaration) Gates() *gate.Gates { return &d.gates }
