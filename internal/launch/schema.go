package launch

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"
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

// askSchema asks for the schema, and counts what it lists.
func askSchema(ctx context.Context, conn grpc.ClientConnInterface, r *Report) error {
	// To the empty message all fields are unknown, and so are kept as they are.
	var response emptypb.Empty
	if err := conn.Invoke(ctx, methods[r.Protocol], &emptypb.Empty{}, &response); err != nil {
		return err
	}
	return eachField(response.ProtoReflect().GetUnknown(), func(number protowire.Number, value []byte) error {
		switch number {
		case fieldResources:
			r.Resources++
		case fieldDataSources:
			r.DataSources++
		case fieldFunctions:
			r.Functions++
		case fieldEphemeralResources:
			r.EphemeralResources++
		case fieldDiagnostics:
			return diagnose(value)
		}
		return nil
	})
}

// diagnose returns an error for a diagnostic that is one.
func diagnose(diagnostic []byte) error {
	var severity uint64
	var texts []string
	err := eachField(diagnostic, func(number protowire.Number, value []byte) error {
		switch number {
		case fieldSeverity:
			severity, _ = protowire.ConsumeVarint(value)
		case fieldSummary, fieldDetail:
			if text := short(string(value[:min(len(value), maxText)])); text != "" {
				texts = append(texts, text)
			}
		}
		return nil
	})
	if err != nil || severity != severityError {
		return err
	}
	return fail(Schema, "it can't tell its schema, it says %s", strings.Join(texts, ": "))
}

// eachField calls a function with the fields of a message in turn: the content of those that have a
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
	if said, ok := errors.AsType[*Error](err); ok {
		return said
	}
	answer, isStatus := status.FromError(err)
	switch {
	case !isStatus:
		return fail(Schema, "its schema can't be read: %s", short(err.Error()))
	case answer.Code() == codes.ResourceExhausted:
		return fail(Schema, "its schema is over %d MiB, or it says that something is used up: %s", maxSchema>>20, short(answer.Message()))
	}
	return fail(Schema, "asked for its schema it answers %s: %s", answer.Code(), short(answer.Message()))
}
