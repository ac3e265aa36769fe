package launch

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// methods are the calls for a schema, by the protocol. What they answer has the same
// fields in both: GetProviderSchema.Response of tfplugin5.proto and tfplugin6.proto.
var methods = map[int]string{
	5: "/tfplugin5.Provider/GetSchema",
	6: "/tfplugin6.Provider/GetProviderSchema",
}

// Fields of GetProviderSchema.Response, and of the Diagnostic in it.
const (
	fieldResources          = 2
	fieldDataSources        = 3
	fieldDiagnostics        = 4
	fieldFunctions          = 7
	fieldEphemeralResources = 8

	fieldSeverity = 1
	fieldSummary  = 2
	fieldDetail   = 3
	severityError = 1
)

// counts are how much of each kind a schema has.
type counts struct {
	resources, dataSources, functions, ephemeralResources int
}

// diagnosticError is what a provider says in place of its schema.
type diagnosticError struct{ text string }

func (e *diagnosticError) Error() string { return "it says " + e.text }

// raw is a codec for messages that are taken as they come: no more is wanted of a
// schema than the number of its entries. Nil is the empty message.
type raw struct{}

// Name is that of the encoding on the wire.
func (raw) Name() string { return "proto" }

// Marshal gives the empty message.
func (raw) Marshal(any) (mem.BufferSlice, error) { return nil, nil }

// Unmarshal keeps the message in v, a *[]byte.
func (raw) Unmarshal(message mem.BufferSlice, v any) error {
	into, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("a message is to go into %T", v)
	}
	*into = message.Materialize()
	return nil
}

// askSchema asks for the schema, and counts what it lists.
func askSchema(ctx context.Context, conn grpc.ClientConnInterface, protocol int) (counts, error) {
	var message []byte
	if err := conn.Invoke(ctx, methods[protocol], nil, &message, grpc.ForceCodecV2(raw{})); err != nil {
		return counts{}, err
	}
	return count(message)
}

// count reads the fields of an answer.
func count(message []byte) (c counts, err error) {
	err = eachField(message, func(number protowire.Number, value []byte) error {
		switch number {
		case fieldResources:
			c.resources++
		case fieldDataSources:
			c.dataSources++
		case fieldFunctions:
			c.functions++
		case fieldEphemeralResources:
			c.ephemeralResources++
		case fieldDiagnostics:
			return diagnose(value)
		}
		return nil
	})
	return c, err
}

// diagnose gives an error for a diagnostic that is one.
func diagnose(diagnostic []byte) error {
	var severity uint64
	var summary, detail string
	err := eachField(diagnostic, func(number protowire.Number, value []byte) error {
		switch number {
		case fieldSeverity:
			severity, _ = protowire.ConsumeVarint(value)
		case fieldSummary:
			summary = short(string(value[:min(len(value), maxText)]))
		case fieldDetail:
			detail = short(string(value[:min(len(value), maxText)]))
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case severity != severityError:
		return nil
	case detail != "":
		summary += ": " + detail
	}
	return &diagnosticError{summary}
}

// eachField gives the fields of a message in turn: the content of those that have a
// length, the encoded value of others.
func eachField(message []byte, visit func(protowire.Number, []byte) error) error {
	for len(message) > 0 {
		number, kind, length := protowire.ConsumeTag(message)
		if length < 0 {
			return protowire.ParseError(length)
		}
		message = message[length:]
		if length = protowire.ConsumeFieldValue(number, kind, message); length < 0 {
			return protowire.ParseError(length)
		}
		value := message[:length]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		if err := visit(number, value); err != nil {
			return err
		}
		message = message[length:]
	}
	return nil
}

// schemaProblem says why there is no schema.
func schemaProblem(err error) *Error {
	answer, isStatus := status.FromError(err)
	said, isSaid := errors.AsType[*diagnosticError](err)
	switch {
	case isSaid:
		return &Error{Fault: Schema, Problem: "it can't tell its schema, " + said.Error()}
	case !isStatus:
		return &Error{Fault: Schema, Problem: "its schema can't be read: " + short(err.Error())}
	case answer.Code() == codes.ResourceExhausted:
		return &Error{Fault: Schema, Problem: fmt.Sprintf("its schema is over %d MiB, or it says that something is used up: %s", maxSchema>>20, short(answer.Message()))}
	}
	return &Error{Fault: Schema, Problem: fmt.Sprintf("asked for its schema it answers %s: %s", answer.Code(), short(answer.Message()))}
}
